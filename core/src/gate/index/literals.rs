//! Texts, of which one search finds all that a value begins with.

/// Sorted texts, each with a link to the longest other text that it begins with.
///
/// Of all texts that a value begins with, the longest is the greatest text that isn't greater than the value, or linked to from
/// there: all texts between the two begin with it.
#[derive(Debug, Default)]
pub(super) struct Literals {
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Text {
    bytes: Box<[u8]>,
    /// The place of the longest proper prefix, or `NONE`.
    link: u32,
}

const NONE: u32 = u32::MAX;

impl Literals {
    /// Of sorted texts that differ, each with whether values are to be found that only begin with it. To others no link leads.
    pub(super) fn new(sorted: impl IntoIterator<Item = (Box<[u8]>, bool)>) -> Self {
        let mut texts: Vec<Text> = Vec::new();
        // The texts that the next one may begin with, shortest first.
        let mut open: Vec<u32> = Vec::new();
        for (bytes, is_open) in sorted {
            while open.last().is_some_and(|last| !bytes.starts_with(&texts[*last as usize].bytes)) {
                open.pop();
            }
            let place = texts.len() as u32;
            texts.push(Text { bytes, link: open.last().copied().unwrap_or(NONE) });
            if is_open {
                open.push(place);
            }
        }
        Self { texts }
    }

    /// The places of the texts that `value` begins with, longest first, and whether it is all of the value.
    #[inline]
    pub(super) fn prefixes_of(&self, value: &[u8]) -> impl Iterator<Item = (usize, bool)> {
        let after = self.texts.partition_point(|text| *text.bytes <= *value);
        let mut place = (after as u32).wrapping_sub(1);
        let mut common = None;
        std::iter::from_fn(move || {
            while let Some(text) = self.texts.get(place as usize) {
                let here = place as usize;
                place = text.link;
                let common = *common.get_or_insert_with(|| common_bytes(&text.bytes, value));
                if text.bytes.len() <= common {
                    return Some((here, text.bytes.len() == value.len()));
                }
            }
            None
        })
    }
}

/// How many bytes `a` and `b` begin with alike.
fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    if b.starts_with(a) { a.len() } else { a.iter().zip(b).take_while(|(a, b)| a == b).count() }
}
