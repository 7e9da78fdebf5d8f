# What build systems read of an installation: the names that clients test, and the form of make fragments and of pkg-config's variables.
# Sourced by ci/install-test, which has the functions that report. Bash.
# shellcheck disable=SC2086,SC2046 # words and lists of flags have no quotes on purpose

# --- what clients test: the macro of the conduit whose files they use --------------------------------------------------------
# The macros of conduits that are defined after gasnetex.h, or gasnet.h.
macros() { # HEADER FLAGS...
  echo "#include <$1>" | gcc -E -dM -x c - "${@:2}" | grep -oE ' GASNET_CONDUIT_[A-Z0-9]+ 1$' | sort | grep -vx ' GASNET_CONDUIT_SCI 1'
}
conduit_macro() { # CONDUIT MACROS
  local header found
  for header in gasnetex.h gasnet.h; do
    for found in "$(macros $header $(value "$inst/include/$1-conduit/$1-par.mak" GASNET_CPPFLAGS))" \
      "$(macros $header -DGASNET_PAR $(value "$inst/include/$1-conduit/$1-par.mak" GASNET_INCLUDES))" \
      "$(macros $header $(PKG_CONFIG_PATH=$inst/lib/pkgconfig pkg-config --cflags "gasnet-$1-par"))"; do
      [ "$found" = "$2" ] || { say "$header: '$found' instead of '$2'"; return 1; }
    done
  done
}
verdict "GASNET_CONDUIT_SMP with files of smp" conduit_macro smp ' GASNET_CONDUIT_SMP 1'
verdict "no other conduit with files of sci" conduit_macro sci ""

# --- the first -L, beside which some clients look for include/gasnetex.h ------------------------------------------------------
beside_include() { # FLAGS
  local flag
  for flag in "$@"; do
    case $flag in -L*) [ -r "$(dirname "${flag#-L}")/include/gasnetex.h" ] || say "${flag#-L} has no include beside it"; return ;; esac
  done
  say "no -L in: $*"
}
none "the first -L is the directory beside include" "$(for fragment in "$inst"/include/*-conduit/*.mak; do
  for name in GASNET_LIBS GASNET_SHARED_LIBS GASNET_LIBDIRS; do beside_include $(value "$fragment" $name); done
done
for fragment in "$inst"/include/gasnet_tools-*.mak; do beside_include $(value "$fragment" GASNETTOOLS_LIBS); done
for file in "$inst"/lib/pkgconfig/*.pc; do beside_include $(PKG_CONFIG_PATH=$inst/lib/pkgconfig pkg-config --libs "$(basename "$file" .pc)"); done)"

# --- make fragments: the form that others parse -----------------------------------------------------------------------------
hygiene() { # FRAGMENT PREFIX-OF-NAMES
  local name text bad
  grep -vE "^(#.*|$2[A-Za-z_]* = ?.*|$2[A-Za-z_]* =|)\$" "$1" | sed 's/^/no plain assignment: /'
  grep -E '\$\(' "$1" | grep -v '^#' | grep -oE '\$\([^)]*\)' | grep -vE "^\\\$\\((MANUAL_[A-Z]*|$2[A-Z_]*)\\)\$" | sed 's/^/foreign reference: /'
  for name in $(sed -nE 's/^([A-Z_]+) = ?.*/\1/p' "$1"); do
    text=$(value "$1" "$name")
    [ "$(wc -l <<<"$text")" = 1 ] || say "$name is not one line"
    case $text in *['%&"\$']* | *"'"* | *'\'*) say "$name has characters that scripts stumble over: $text" ;; esac
    # What one script does with every value.
    [ "$(echo @x@ | eval "sed -e 's%@x@%$text%'")" = "$text" ] || say "$name does not survive sed: $text"
    case $name in
      *_DEFINES) bad=$(tr ' ' '\n' <<<"$text" | grep -vE '^(-[DU].*|)$') ;;
      *_INCLUDES) bad=$(tr ' ' '\n' <<<"$text" | grep -vE '^(-I/.*|)$') ;;
      *_LIBDIRS) bad=$(tr ' ' '\n' <<<"$text" | grep -vE '^(-L/.*|)$') ;;
      *_SHARED_LIBS) bad= ;; # cannot do without a run path: not among the classic variables
      *_LIBS) bad=$(tr ' ' '\n' <<<"$text" | grep -vE '^(-L/.*|-l[A-Za-z].*|)$') ;;
      *FLAGS) bad=$(tr ' ' '\n' <<<"$text" | grep -E '^(-Wl,.*|-isystem|-include|/.*)$') ;;
      *_LD) case $text in mpi* | */mpi*) bad=$text ;; *) bad= ;; esac ;;
      *) bad= ;;
    esac
    [ -z "$bad" ] || say "$name has what does not belong there: $bad"
  done
  for name in CC CXX CFLAGS CXXFLAGS CPPFLAGS CXXCPPFLAGS LD LDFLAGS LIBS; do
    grep -q "^$2$name =" "$1" || say "$2$name is missing"
  done
}
for fragment in "$inst"/include/*-conduit/*.mak; do
  none "form of ${fragment#"$inst/"}" "$(hygiene "$fragment" GASNET_ 2>&1)"
done
for fragment in "$inst"/include/gasnet_tools-*.mak; do
  [ -e "$fragment" ] || continue
  none "form of ${fragment#"$inst/"}" "$(hygiene "$fragment" GASNETTOOLS_ 2>&1)"
done
# pkg-config says the same.
same() {
  local fragment=$inst/include/sci-conduit/sci-$1.mak name
  for name in $(sed -nE 's/^(GASNET_[A-Z_]+) = ?.*/\1/p' "$fragment"); do
    diff <(value "$fragment" "$name" | xargs) <(PKG_CONFIG_PATH=$inst/lib/pkgconfig pkg-config --variable="$name" "gasnet-sci-$1" |
      sed "s|$inst/lib/pkgconfig/../..|$inst|g" | xargs) || return
  done
}
for mode in seq parsync par; do verdict "variables of pkg-config and make, $mode" same $mode; done
