//! Whom a member tells of an arrival, and whom it hears, until it knows that all have arrived.
//!
//! A plan has stages. A stage begins when all that the stages before it hear has come. It tells what is known by then; after the
//! last stage that is the knowledge of all members. Knowledge merges, and what comes twice does no harm. In a plan each member tells
//! another one at most once.
//!
//! | plan | stages |
//! |---|---|
//! | direct | one: tells all others, hears all others |
//! | rounds | dissemination: in round `r` tells the member 2^r ahead, hears the one 2^r behind |
//! | tree | hears its children, tells its parent; hears that, tells its children |
//! | board | one: tells nobody, but writes on a board; hears all others, as they stand there |
//! | levels, leader of a host | hears the host's others; tells and hears other leaders, directly or in rounds; tells the host's others |
//! | levels, another member | one: tells its leader, hears its leader |
//!
//! With levels only leaders' words cross hosts. Others' arrivals go on when a leader looks, so it must poll.
//!
//! Must not know: what is told, and by what means.

use super::grouping::Grouping;

/// The most hosts whose leaders tell each other directly. They send no more words than in rounds, and all at once.
const DIRECT_HOSTS: usize = 3;

/// The most members of one host who all tell each other. More have a board, or a tree: each member has to have mapped whom it tells, and so
/// `n` members would make `n²` maps before their first barrier is over. In barriers of 64 nodes on 2 cores direct words are still fast
/// (0.2–0.5 ms; 128 nodes: 3–5 ms, 256: 44 ms; loaded EPYC VM, 2026-11).
const DIRECT: usize = 64;

/// Children of a member of a tree. So a word goes up and down in log₂ n steps, or one more, as many as there are rounds of dissemination,
/// and `n` members tell 2 (n − 1) words instead of n log₂ n. Where nodes share cores, each word may be a wake-up.
const CHILDREN: usize = 4;

/// What a member does at a time.
#[derive(Debug, PartialEq, Eq)]
pub struct Stage {
    /// Whom it tells what it knows.
    pub tell: Box<[u32]>,
    /// Whom it then hears.
    pub hear: Box<[u32]>,
}

impl Stage {
    fn is_empty(&self) -> bool {
        self.tell.is_empty() && self.hear.is_empty()
    }
}

/// The part of one member.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    stages: Box<[Stage]>,
    has_board: bool,
}

impl Plan {
    /// The plan of a barrier. `reads`: members of one host can read each other's regions. It needs nobody's help after its notify, where all
    /// are on one host.
    pub fn of_barrier(me: usize, members: usize, hosts: Option<&Grouping>, reads: bool) -> Plan {
        match hosts {
            Some(hosts) => Plan::levels(me, hosts),
            None if reads && members > DIRECT => Plan::board(me, members),
            None => Plan::direct(me, members),
        }
    }

    /// The plan of credits, which members forward in their polls.
    pub fn of_credits(me: usize, members: usize, hosts: Option<&Grouping>) -> Plan {
        match hosts {
            Some(hosts) => Plan::levels(me, hosts),
            None if members > DIRECT => Plan::tree(me, members),
            None => Plan::direct(me, members),
        }
    }

    /// All write on one board, which all read.
    pub fn board(me: usize, members: usize) -> Plan {
        let hear = (0..members as u32).filter(|member| *member as usize != me).collect();
        Plan { stages: [Stage { tell: [].into(), hear }].into(), has_board: true }
    }

    /// True if what the last stage hears stands on a board.
    #[inline(always)]
    pub fn has_board(&self) -> bool {
        self.has_board
    }

    fn new(stages: impl IntoIterator<Item = Stage>) -> Plan {
        Plan { stages: stages.into_iter().collect(), has_board: false }
    }

    /// The plan of members on one host of whom none shall have to do with all others.
    pub fn narrow(me: usize, members: usize) -> Plan {
        if members <= DIRECT { Plan::rounds(me, members) } else { Plan::tree(me, members) }
    }

    /// Each member has four children; the first member is the root.
    pub fn tree(me: usize, members: usize) -> Plan {
        let parent: Box<[u32]> = me.checked_sub(1).map(|before| (before / CHILDREN) as u32).into_iter().collect();
        let children: Box<[u32]> = (CHILDREN * me + 1..members).take(CHILDREN).map(|member| member as u32).collect();
        let gather = Stage { tell: [].into(), hear: children.clone() };
        let ask = Stage { tell: parent.clone(), hear: parent };
        let spread = Stage { tell: children, hear: [].into() };
        Plan::new([gather, ask, spread].into_iter().filter(|stage| !stage.is_empty()))
    }

    /// All tell all.
    pub fn direct(me: usize, members: usize) -> Plan {
        let others: Box<[u32]> = (0..members as u32).filter(|m| *m as usize != me).collect();
        Plan::new([Stage { tell: others.clone(), hear: others }])
    }

    /// Rounds of doubling distance.
    pub fn rounds(me: usize, members: usize) -> Plan {
        let list: Vec<u32> = (0..members as u32).collect();
        Plan::new(rounds(me, &list))
    }

    /// Hosts by their leaders.
    pub fn levels(me: usize, hosts: &Grouping) -> Plan {
        let host = hosts.host(me);
        let (leader, others) = (hosts.of(host)[0], &hosts.of(host)[1..]);
        if leader as usize != me {
            return Plan::new([Stage { tell: [leader].into(), hear: [leader].into() }]);
        }
        let leaders: Vec<u32> = hosts.leaders().collect();
        let mut stages = Vec::new();
        if !others.is_empty() {
            stages.push(Stage { tell: [].into(), hear: others.into() });
        }
        if leaders.len() <= DIRECT_HOSTS {
            let rest: Box<[u32]> = leaders.iter().copied().filter(|l| *l != leader).collect();
            stages.push(Stage { tell: rest.clone(), hear: rest });
        } else {
            stages.extend(rounds(host, &leaders));
        }
        if !others.is_empty() {
            stages.push(Stage { tell: others.into(), hear: [].into() });
        }
        Plan::new(stages)
    }

    /// The same plan behind a stage in which this member tells and hears nobody. All that it tells then belongs to later stages,
    /// which [`super::Barrier`] tells in a way that may record; the first stage has no point, so that it costs nothing.
    pub fn with_later_stages_only(self) -> Plan {
        let nothing = Stage { tell: [].into(), hear: [].into() };
        Plan { stages: std::iter::once(nothing).chain(self.stages).collect(), has_board: self.has_board }
    }

    /// The stages, in their order. There is at least one, unless the team has one member.
    #[inline(always)]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }
}

/// Rounds among the members of `list`, for the one at `at`.
fn rounds(at: usize, list: &[u32]) -> impl Iterator<Item = Stage> {
    let count = list.len();
    let distances = std::iter::successors(Some(1), |distance| Some(2 * distance)).take_while(move |d| *d < count);
    distances.map(move |distance| Stage {
        tell: [list[(at + distance) % count]].into(),
        hear: [list[(at + count - distance) % count]].into(),
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Numbers without a pattern that matters here.
    fn mix(seed: u64, step: u64) -> usize {
        let x = (seed << 32 | step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize
    }

    /// Runs the plans of all members, whose words arrive late and in an order that `seed` says. Checks what each member knows in
    /// the end. Returns how many words each member sent to members of which `is_far` is true.
    fn play(plans: &[Plan], seed: u64, is_far: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let count = plans.len();
        let mut knows: Vec<Vec<bool>> = (0..count).map(|me| (0..count).map(|m| m == me).collect()).collect();
        let mut at: Vec<(usize, Vec<u32>)> = vec![(usize::MAX, Vec::new()); count]; // the stage, and whom it still hears
        let mut cells: Vec<Vec<Option<Vec<bool>>>> = vec![vec![None; count]; count];
        let mut sent = vec![0; count];
        let mut step = 0;
        while at.iter().zip(plans).any(|((stage, _), plan)| *stage != plan.stages().len()) {
            step += 1;
            assert!(step < 200_000, "nobody gets on");
            let me = mix(seed, step) % count;
            let stages = plans[me].stages();
            if at[me].0 != usize::MAX {
                let due: Vec<u32> =
                    at[me].1.iter().copied().filter(|from| cells[me][*from as usize].is_some()).collect();
                for from in due {
                    let told = cells[me][from as usize].take().unwrap();
                    knows[me].iter_mut().zip(told).for_each(|(mine, theirs)| *mine |= theirs);
                    at[me].1.retain(|m| *m != from);
                }
            }
            while at[me].0 != stages.len() && at[me].1.is_empty() {
                at[me].0 = at[me].0.wrapping_add(1);
                let Some(stage) = stages.get(at[me].0) else { break };
                for to in &stage.tell {
                    sent[me] += usize::from(is_far(me, *to as usize));
                    assert!(cells[*to as usize][me].replace(knows[me].clone()).is_none(), "told twice");
                }
                at[me].1 = stage.hear.to_vec();
            }
        }
        assert!(knows.iter().flatten().all(|knows| *knows), "somebody knows too little");
        assert!(cells.iter().flatten().all(Option::is_none), "a word that nobody heard");
        sent
    }

    #[test]
    fn in_every_plan_all_hear_of_all() {
        for count in [1, 2, 3, 5, 8, 17] {
            for seed in 0..5 {
                play(&(0..count).map(|me| Plan::direct(me, count)).collect::<Vec<_>>(), seed, |_, _| false);
                play(&(0..count).map(|me| Plan::rounds(me, count)).collect::<Vec<_>>(), seed, |_, _| false);
                play(&(0..count).map(|me| Plan::tree(me, count)).collect::<Vec<_>>(), seed, |_, _| false);
            }
        }
    }

    /// Lets all members take a step at a time: each hears what was told in the steps before. Returns the number of steps until all are
    /// through, and the most words that a member tells or hears.
    fn march(plans: &[Plan]) -> (usize, usize) {
        let mut at = vec![0; plans.len()];
        let mut told = std::collections::HashSet::new();
        let mut most = 0;
        for (me, plan) in (0..).zip(plans) {
            let words = |of: fn(&Stage) -> usize| plan.stages().iter().map(of).sum::<usize>();
            most = most.max(words(|stage| stage.tell.len())).max(words(|stage| stage.hear.len()));
            told.extend(plan.stages()[0].tell.iter().map(|to| (me, *to)));
        }
        for step in 0.. {
            let mut new = Vec::new();
            for (me, plan) in (0u32..).zip(plans) {
                let at = &mut at[me as usize];
                while plan
                    .stages()
                    .get(*at)
                    .is_some_and(|stage| stage.hear.iter().all(|from| told.contains(&(*from, me))))
                {
                    *at += 1;
                    new.extend(plan.stages().get(*at).into_iter().flat_map(|stage| &stage.tell).map(|to| (me, *to)));
                }
            }
            told.extend(new);
            if at.iter().zip(plans).all(|(at, plan)| *at == plan.stages().len()) {
                return (step + 1, most);
            }
            assert!(step < plans.len(), "nobody gets on");
        }
        unreachable!("the steps end")
    }

    #[test]
    fn large_teams_take_log_n_steps_and_few_words() {
        for (members, log) in [(65, 7), (100, 8), (256, 8), (1000, 10), (1024, 10), (4096, 12)] {
            let credits = |me, members| Plan::of_credits(me, members, None);
            for plan in [&credits as &dyn Fn(usize, usize) -> Plan, &Plan::narrow] {
                let (steps, words) = march(&(0..members).map(|me| plan(me, members)).collect::<Vec<_>>());
                assert!(steps <= log && words <= CHILDREN + 1, "{members} members: {steps} steps, {words} words");
            }
        }
        assert_eq!(march(&(0..64).map(|me| Plan::of_credits(me, 64, None)).collect::<Vec<_>>()), (1, 63));
        assert_eq!(march(&(0..64).map(|me| Plan::narrow(me, 64)).collect::<Vec<_>>()), (6, 6));
    }

    #[test]
    fn with_levels_only_leaders_words_cross_hosts_and_few_of_them() {
        let blocks = |sizes: &[usize]| -> Vec<u32> {
            (0..).zip(sizes).flat_map(|(host, size)| std::iter::repeat_n(host, *size)).collect()
        };
        let shapes = [
            (blocks(&[1, 1]), 1),
            (blocks(&[1, 2, 3]), 2),
            (blocks(&[1, 1, 1]), 2),
            (blocks(&[8, 8]), 1),
            (blocks(&[2, 1, 4, 1, 3]), 3),
            (blocks(&[1; 9]), 4),
            (vec![0, 1, 2, 0, 1, 2, 2, 3, 0], 2),
        ];
        for (names, most) in shapes {
            let hosts = Grouping::new(names.len(), |m| names[m]).unwrap();
            let plans: Vec<_> = (0..names.len()).map(|me| Plan::levels(me, &hosts)).collect();
            for seed in 0..20 {
                let far = play(&plans, seed, |a, b| names[a] != names[b]);
                for (me, words) in far.iter().enumerate() {
                    let leads = hosts.leaders().any(|leader| leader as usize == me);
                    assert!(*words <= if leads { most } else { 0 }, "{names:?}: node {me} sent {words}");
                }
            }
        }
    }
}
