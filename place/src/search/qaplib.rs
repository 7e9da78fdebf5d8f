//! Reads problems as QAPLIB has them: n, then two tables of n rows.
//!
//! Must not know: ranks and positions; the tables are just A and B.

use super::problem::Problem;
use crate::format::{self, Format};

/// The most rows that are taken.
const MOST: usize = 1024;

/// Reads the text of a file. Its cost is the sum of A(i, j) · B(p(i), p(j)).
///
/// # Errors
/// It has another form, or a negative number, for which no bound holds.
pub fn parse(text: &str) -> Result<Problem, String> {
    format::check(text, "--qaplib", &[Format::Qaplib])?;
    let mut words = text.split_whitespace();
    let n = words.next().ok_or("it is empty")?;
    let n: usize = n.parse().map_err(|_| format!("n is '{n}', which is no whole number"))?;
    let numbers = words.map(|word| {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("'{word}' is no number from 0 on"))
    });
    if !(1..=MOST).contains(&n) {
        return Err(format!("n is {n}; this program takes 1 to {MOST}"));
    }
    let rest = numbers.collect::<Result<Vec<f64>, String>>()?;
    if rest.len() != 2 * n * n {
        return Err(format!("n is {n}, so {} numbers should follow; there are {}", 2 * n * n, rest.len()));
    }
    let (a, b) = rest.split_at(n * n);
    let problem = Problem::of_tables(n, a, b);
    problem.check().map(|()| problem)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const NUG12_FLOWS: &str = "52410062111/3022204500/000055222/522A0055/A000511/511540/A5233/0050/0AA/50/2";
    const NUG30_FLOWS: &str = "32002A50525002056301A0A211101/40A40022105000020161012251A5/340555141040406325521003102/\
        00022060252511112240202255/5200002000021002051021021/12214AA25505000A00040A11/AA5AA600A21A15523502013/\
        1350002452A60552505502/A21520302004052052252/556015505235052AA152/001210200066045322A/55200002045A100001/\
        20422106215500155/21053A0042004255/451010502005110/0302202050525A/2200065350051/512AA4005000/055105212AA/\
        5213156553/401000500/50445025/0441022/550100/10A10/0000/00A/22/2";
    const ESC16A_FLOWS: &str = "211211223000000/11100112000000/1000111000000/001111000000/11112000000/1111000000/\
        111000000/22000000/2000000";

    /// Taillard's problem, as his file has it.
    pub const TAI12A: &str = include_str!("../../../cli/tests/data/tai12a.dat");

    // A symmetric table with zeros on its diagonal, from its upper triangle. `A` is the digit ten.
    fn triangle(n: usize, rows: &str) -> Vec<u32> {
        let mut table = vec![0; n * n];
        for (i, row) in rows.split('/').enumerate() {
            for (k, digit) in row.chars().enumerate() {
                let (j, value) = (i + 1 + k, digit.to_digit(16).unwrap());
                table[i * n + j] = value;
                table[j * n + i] = value;
            }
        }
        table
    }

    fn file(n: usize, a: &[u32], b: &[u32]) -> String {
        let words: Vec<String> = a.iter().chain(b).map(u32::to_string).collect();
        format!("{n}\n{}\n", words.join(" "))
    }

    // Nugent's: distances of a grid, and flows.
    fn nugent(x: usize, y: usize, flows: &str) -> String {
        let n = x * y;
        let far = |at: usize| ((at / n % x).abs_diff(at % n % x) + (at / n / x).abs_diff(at % n / x)) as u32;
        file(n, &(0..n * n).map(far).collect::<Vec<_>>(), &triangle(n, flows))
    }

    /// nug12 of QAPLIB.
    pub fn nug12() -> String {
        nugent(4, 3, NUG12_FLOWS)
    }

    /// nug30 of QAPLIB.
    pub fn nug30() -> String {
        nugent(6, 5, NUG30_FLOWS)
    }

    /// esc16a of QAPLIB.
    pub fn esc16a() -> String {
        let far = |at: usize| ((at / 16) ^ (at % 16)).count_ones().saturating_sub(1);
        file(16, &triangle(16, ESC16A_FLOWS), &(0..256).map(far).collect::<Vec<_>>())
    }

    #[test]
    fn published_permutations_have_their_published_costs() {
        for (text, permutation, cost) in [
            (nug12(), "12 7 9 3 4 8 11 1 5 6 10 2", 578.0),
            (nug30(), "5 12 6 13 2 21 26 24 10 9 29 28 17 1 8 7 19 25 23 22 11 16 30 4 15 18 27 3 14 20", 6124.0),
            (esc16a(), "2 14 10 16 5 3 7 8 4 6 12 11 15 13 9 1", 68.0),
            (TAI12A.into(), "8 1 6 2 11 10 3 5 9 7 12 4", 224416.0),
        ] {
            let at: Vec<usize> = permutation.split(' ').map(|p| p.parse::<usize>().unwrap() - 1).collect();
            assert_eq!(parse(&text).unwrap().cost(&at), cost);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, what) in [
            ("", "empty"),
            ("2 1 2", "8 numbers should follow; there are 2"),
            ("1 -1 0", "'-1'"),
            ("0", "n is 0"),
            ("1 x 0", "'x'"),
            ("2.7 0 1 1 0 0 1 1 0", "'2.7', which is no whole number"),
            ("2 0 1e200 1e200 0 0 1e200 1e200 0", "too large"),
        ] {
            assert!(parse(text).unwrap_err().contains(what), "{text}");
        }
    }
}
