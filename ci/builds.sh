# How the C programs are built and run; sourced after lib.sh. Bash.
#
# Builds are directories of target/c-tests. A row has the options of ci/c-tests that make it, the thread modes, the nodes it runs
# on, how it starts, and further environment, which may end with a command that runs the program. With
# ci/test --thorough every program of a list runs in every row of its table. ci/test alone runs a program in the first row and in a
# third of the others, in the next run, behind one more commit, in another third.

# True if the program at PLACE of its list, counted from the number of the turn on, runs in ROW (from 0) of its table, if SHARE programs
# share the rows. The choice moves on by a row after each ten, so that each program meets all values of each setting on several nodes in
# each turn, but one that ci/pairs names.
shared_by=3
takes_part() { (($1 == 0 || ($1 + $1 / 10 + $2) % $3 == 0)); } # ROW PLACE SHARE

# The tables hold pairs instead of products. A test that fails for one setting, or for two together, fails in a row, too: every value
# of thread mode, segment mode, debugging, compiler, kind of library, number of nodes, start and environment occurs together with
# every value of each other. Exception: a number of nodes meets only the environments that `base_pairs` and `transfer_pairs` list,
# because one node has no peer, and many (5, 7, 8) take long. Simulated annealing over the ten builds below found the least number
# of rows; then 2 and 4 nodes were added to the default build. After a change of a row run ci/pairs, which prints missing pairs;
# `ci/test fmt` runs it, too.
base_pairs=' :1 :2 :3 :4 :many '
for environment in GASNET_SCI_CMA=no GASNET_SCI_WINDOW=no GASNET_SCI_MEMBARRIER=no GASNET_SCI_SLOTS=4 \
  GASNET_SCI_DMA_MIN=2K+GASNET_SCI_BOUNCE_MIN=2K; do base_pairs+="$environment:2 $environment:3 $environment:4 "; done
builds='
                                        | seq     | 2 4   | fork     |
                                        | seq     | 3     | fork     | GASNET_SCI_MEMBARRIER=no
                                        | par     | 2 4 8 | launcher |
--debug                                 | parsync | 3     | launcher |
--debug                                 | parsync | 4     | launcher | GASNET_SCI_WINDOW=no
--debug                                 | parsync | 3     | launcher | GASNET_SCI_SLOTS=4
--segment everything --debug            | par     | 1     | launcher |
--segment everything --debug            | par     | 3     | fork     | GASNET_SCI_CMA=no
--cc clang --static                     | par     | 8     | fork     |
--cc clang --static                     | par     | 1     | launcher |
--cc clang --static                     | par     | 3     | fork     | GASNET_SCI_CMA=no
--cc clang --static                     | par     | 3     | launcher | GASNET_SCI_WINDOW=no
--cc clang --static                     | par     | 2     | launcher | GASNET_SCI_SLOTS=4
--cc clang --static                     | par     | 3     | fork     | GASNET_SCI_DMA_MIN=2K GASNET_SCI_BOUNCE_MIN=2K
--segment large --debug --static        | seq     | 1     | fork     |
--segment large --debug --static        | seq     | 3     | fork     | GASNET_SCI_WINDOW=no
--segment large --debug --static        | seq     | 4     | launcher | GASNET_SCI_DMA_MIN=2K GASNET_SCI_BOUNCE_MIN=2K
--cc clang --segment everything --debug | seq     | 8     | fork     |
--cc clang --segment everything --debug | seq     | 4     | fork     | GASNET_SCI_CMA=no
--cc clang --segment everything --debug | seq     | 2     | launcher | GASNET_SCI_WINDOW=no
--cc clang --segment everything --debug | seq     | 2     | launcher | GASNET_SCI_MEMBARRIER=no
--cc clang --segment everything --debug | seq     | 4     | fork     | GASNET_SCI_SLOTS=4
--cc clang --segment everything --debug | seq     | 4     | fork     | GASNET_SCI_DMA_MIN=2K GASNET_SCI_BOUNCE_MIN=2K
--cc clang --segment large              | parsync | 1 8   | fork     |
--cc clang --segment large              | parsync | 2     | launcher | GASNET_SCI_CMA=no
--cc clang --segment large              | parsync | 2     | fork     | GASNET_SCI_SLOTS=4
--cc clang --segment large              | parsync | 2     | fork     | GASNET_SCI_DMA_MIN=2K GASNET_SCI_BOUNCE_MIN=2K
--segment everything --static           | parsync | 4     | launcher | GASNET_SCI_MEMBARRIER=no
--segment large --debug                 | par     | 4     | launcher | GASNET_SCI_MEMBARRIER=no
'

# The same for the programs of the Extended API: native and reference, peers mapped, not mapped, and some of each.
transfer_pairs=' :1 :2 :3 :4 :many GASNET_SCI_EXTENDED=ref:1 GASNET_SCI_EXTENDED=ref:2 GASNET_SCI_EXTENDED=ref:3 '
transfer_pairs+='GASNET_SCI_EXTENDED=ref:many GASNET_SCI_WINDOW=no:2 GASNET_SCI_WINDOW=no:3 GASNET_SCI_WINDOW=no:many '
transfer_pairs+='GASNET_SCI_CMA=no:2 GASNET_SCI_CMA=no:3 GASNET_SCI_CMA=no:4 '
transfer_pairs+='GASNET_SCI_UNMAPPED=odd:2 GASNET_SCI_UNMAPPED=odd:3 GASNET_SCI_UNMAPPED=odd:many '
transfer_builds='
                                        | seq     | 2 4   | fork     |
                                        | par     | 2 4   | launcher |
--debug                                 | parsync | 8     | fork     |
--debug                                 | parsync | 1     | fork     | GASNET_SCI_EXTENDED=ref
--segment everything --debug            | par     | 3     | fork     | GASNET_SCI_WINDOW=no
--segment everything --debug            | par     | 2     | fork     | GASNET_SCI_EXTENDED=ref
--cc clang --static                     | par     | 1     | launcher |
--cc clang --static                     | par     | 3     | fork     | GASNET_SCI_CMA=no
--cc clang --static                     | par     | 5     | launcher | GASNET_SCI_WINDOW=no
--segment large --debug --static        | seq     | 2     | launcher | GASNET_SCI_CMA=no
--segment large --debug --static        | seq     | 5     | fork     | GASNET_SCI_WINDOW=no
--cc clang --segment everything --debug | seq     | 3     | launcher |
--cc clang --segment everything --debug | seq     | 4     | fork     | GASNET_SCI_CMA=no
--cc clang --segment everything --debug | seq     | 1     | fork     | GASNET_SCI_EXTENDED=ref
--cc clang --segment large              | parsync | 2     | launcher | GASNET_SCI_WINDOW=no
--cc clang --segment large              | parsync | 3     | launcher | GASNET_SCI_EXTENDED=ref
--segment everything --static           | parsync | 4     | launcher | GASNET_SCI_CMA=no
--segment everything --static           | parsync | 7     | fork     | GASNET_SCI_EXTENDED=ref
--segment large --debug                 | par     | 4     | fork     |
--segment large --debug                 | par     | 1     | fork     | GASNET_SCI_EXTENDED=ref
                                        | seq     | 2     | fork     | GASNET_SCI_UNMAPPED=odd
--segment everything --debug            | par     | 3     | launcher | GASNET_SCI_UNMAPPED=odd
--cc clang --static                     | par     | 3     | launcher | GASNET_SCI_UNMAPPED=odd
--cc clang --segment large              | parsync | 5     | fork     | GASNET_SCI_UNMAPPED=odd
'

# More settings for these programs, tried in one build.
other_transfer_builds='
                                        | seq     | 4     | fork     | GASNET_SCI_UNMAPPED=higher GASNET_SCI_WINDOW=no
'

# The programs with long non-blocking transfers, with the DMA thread: for nearly all lengths, and for long ones only; with and
# without the window; and where the library says that the thread is of no use.
overlap_builds='
                                | seq par         | 2         | fork          | GASNET_SCI_DMA=always GASNET_SCI_DMA_THREAD_MIN=64
                                | par             | 3         | launcher      | GASNET_SCI_DMA=always
                                | par             | 2         | fork          | GASNET_SCI_DMA=always GASNET_SCI_WINDOW=no
                                | seq             | 3         | fork          | GASNET_SCI_DMA=always GASNET_SCI_UNMAPPED=odd
                                | seq             | 2         | fork          | GASNET_SCI_DMA=thread GASNET_SCI_EXTENDED=ref GASNET_QUIET=yes
--debug                         | parsync         | 2         | fork          | GASNET_SCI_DMA=always GASNET_SCI_DMA_THREAD_MIN=64
'

# The programs of mail boxes. The last rows are two hosts, as far as the library can tell.
deck_builds='
                                        | seq par | 1 2 4 | fork     |
                                        | par     | 3     | launcher |
--debug                                 | parsync | 2     | launcher |
--segment everything --debug            | par     | 3     | fork     |
--cc clang --static                     | par     | 2     | launcher | GASNET_SCI_SLOTS=4
                                        | par     | 2     | fork     | GASNET_SCI_WINDOW=no
                                        | seq     | 2 4   | fork     | GASNET_SCI_SPLIT=2 GASNET_SCI_NETWORK=tcp
                                        | par     | 3     | fork     | GASNET_SCI_SPLIT=2 GASNET_SCI_NETWORK=tcp
'

# The programs, with the headers' inline code in them, under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize_builds='
--sanitize address,undefined    | par             | 2         | launcher      |
'

# The same for a sample of the programs of GASNet-EX: two builds, over which modes, segment modes, debugging and ways to reach peers go.
sanitize_ex_builds='
--sanitize address,undefined    | par             | 2         | launcher      |
--sanitize address,undefined    | par             | 3         | fork          | GASNET_SCI_EXTENDED=ref
--segment everything --debug --sanitize address,undefined | seq | 2 | launcher | GASNET_SCI_EXTENDED=ref
--segment everything --debug --sanitize address,undefined | seq | 3 | fork     | GASNET_SCI_UNMAPPED=odd
'

# The same for programs of mail boxes: on one host, and on two as far as the library can tell. They return from main, and the library
# keeps some memory until its process ends: that is no leak.
sanitize_deck_builds='
--sanitize address,undefined    | par             | 2         | launcher      | ASAN_OPTIONS=detect_leaks=0
--sanitize address,undefined    | par             | 3         | fork          | ASAN_OPTIONS=detect_leaks=0 GASNET_SCI_SPLIT=2 GASNET_SCI_NETWORK=tcp
'

# Checks every access of the library and of the headers' inline code. A row's environment may end with a command that runs the
# program.
memcheck_builds='
                                | par             | 2         | fork          | valgrind --quiet --error-exitcode=9
'

# More rows for ci/test --thorough: products of the settings that clients choose most. The library treats PARSYNC like SEQ, so not
# every row has it.
product_builds='
                                | seq parsync par | 1 2 3 4 8 | fork          |
                                | seq par         | 2 4       | launcher      |
--cc clang                      | seq par         | 1 3 8     | fork          |
--static                        | seq par         | 2         | fork launcher |
--debug                         | seq parsync par | 1 2 4     | fork          |
--segment large                 | par             | 2 4       | fork          |
--segment everything            | seq par         | 1 2 4     | fork          |
--segment everything            | seq par         | 2 4       | fork          | GASNET_SCI_CMA=no
--segment everything --debug    | parsync par     | 3         | launcher      |
                                | seq par         | 2 4       | fork          | GASNET_SCI_WINDOW=no
--segment everything            | par             | 3         | fork          | GASNET_SCI_WINDOW=no
                                | par             | 2 4       | fork          | GASNET_SCI_MEMBARRIER=no
                                | seq par         | 3         | fork          | GASNET_SCI_SLOTS=4
                                | seq par         | 3         | fork          | GASNET_SCI_DMA_MIN=2K GASNET_SCI_BOUNCE_MIN=2K
'

product_transfer_builds='
                                | seq parsync par | 1 2 4     | fork          |
                                | par             | 8         | fork          |
                                | seq par         | 1 2 3     | fork          | GASNET_SCI_EXTENDED=ref
                                | par             | 7         | fork          | GASNET_SCI_EXTENDED=ref
--cc clang                      | par             | 3         | fork          |
--cc clang                      | seq             | 2         | fork          | GASNET_SCI_EXTENDED=ref
--static                        | par             | 2         | launcher      |
--debug                         | parsync par     | 2         | fork          |
--debug                         | seq par         | 2         | fork          | GASNET_SCI_EXTENDED=ref
--segment everything            | seq par         | 2         | fork          |
--segment everything --debug    | par             | 2         | launcher      | GASNET_SCI_CMA=no
                                | seq par         | 2 5       | fork          | GASNET_SCI_WINDOW=no
                                | seq par         | 2 3 5     | fork          | GASNET_SCI_UNMAPPED=odd
--debug                         | par             | 3         | launcher      | GASNET_SCI_UNMAPPED=odd
'

# The builds of the scenarios.
scenario_builds='
                                        | seq par         |
--debug                                 | parsync         |
--segment everything --debug            | par             |
'

# The rows of ci/test quick.
quick_builds='
                                        | seq par         | 2         | fork     |
                                        | par             | 4         | launcher |
'
