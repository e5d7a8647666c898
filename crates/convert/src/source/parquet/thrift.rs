//! A walk through a structure of Thrift's compact protocol, as the footer of a Parquet file is one. It finds what the
//! `parquet` crate passes over, or refuses.

use std::ops::Range;

/// Structures and lists inside each other; the format has fewer.
const DEPTH_MAX: usize = 64;

/// A field that the walk comes to.
pub(super) struct Field<'a> {
    /// The numbers of the fields around it, from the outermost on, and its own.
    pub(super) path: &'a [i16],
    /// The ordinal, in the innermost list around, of the structure that has it.
    pub(super) element: usize,
    /// Where it is, if it is a text.
    pub(super) text: Option<Text>,
}

/// Where a text is in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The length and the text.
    pub(super) whole: Range<usize>,
    /// The text alone.
    pub(super) content: Range<usize>,
}

/// Calls a function with each field of a structure and of those inside it, in their order. Returns `None` where the
/// bytes are no structure; fields before that place were seen.
pub(super) fn walk(bytes: &[u8], see: &mut dyn FnMut(&Field<'_>)) -> Option<()> {
    let mut walk = Walk {
        bytes,
        at: 0,
        path: Vec::new(),
        element: 0,
        depth: 0,
        see,
    };
    walk.structure()
}

struct Walk<'a> {
    bytes: &'a [u8],
    /// Where the walk is.
    at: usize,
    /// The fields around.
    path: Vec<i16>,
    element: usize,
    depth: usize,
    see: &'a mut dyn FnMut(&Field<'_>),
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at)?;
        self.at += 1;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Passes over so many bytes, and returns where they are.
    fn skip(&mut self, n: u64) -> Option<Range<usize>> {
        let start = self.at;
        let end = start.checked_add(usize::try_from(n).ok()?)?;
        self.bytes.get(start..end)?;
        self.at = end;
        Some(start..end)
    }

    fn text(&mut self) -> Option<Text> {
        let start = self.at;
        let n = self.varint()?;
        let content = self.skip(n)?;
        Some(Text {
            whole: start..content.end,
            content,
        })
    }

    /// Does a step that leads one level down.
    fn inside(&mut self, step: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        step(self)?;
        self.depth -= 1;
        Some(())
    }

    fn structure(&mut self) -> Option<()> {
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(());
            }
            id = match header >> 4 {
                0 => {
                    let n = self.varint()?;
                    i16::try_from((n >> 1).cast_signed() ^ -(n & 1).cast_signed()).ok()?
                }
                delta => id.checked_add(delta.into())?,
            };
            self.path.push(id);
            let kind = header & 0xf;
            let text = match kind {
                8 => Some(self.text()?),
                _ => None,
            };
            let is_text = text.is_some();
            (self.see)(&Field {
                path: &self.path,
                element: self.element,
                text,
            });
            // The values of Booleans are in their headers.
            if !is_text && !matches!(kind, 1 | 2) {
                self.value(kind)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        match kind {
            1..=3 => self.skip(1).map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8).map(drop),
            8 => self.text().map(drop),
            9 | 10 => self.inside(Self::list),
            11 => self.inside(Self::map),
            12 => self.inside(Self::structure),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<()> {
        let header = self.byte()?;
        let n = match header >> 4 {
            15 => self.varint()?,
            n => n.into(),
        };
        let around = self.element;
        for i in 0..n {
            self.element = usize::try_from(i).ok()?;
            self.value(header & 0xf)?;
        }
        self.element = around;
        Some(())
    }

    fn map(&mut self) -> Option<()> {
        let n = self.varint()?;
        let kinds = if n == 0 { 0 } else { self.byte()? };
        for _ in 0..n {
            self.value(kinds >> 4)?;
            self.value(kinds & 0xf)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 1 is the number 2, field 3 a list of two structures with a text each, field 4 the Boolean true.
    const BYTES: &[u8] = b"\x15\x04\x29\x2c\x18\x01a\x00\x18\x02bc\x00\x11\x00";

    #[test]
    fn fields_come_in_their_order_with_their_paths() {
        let mut seen = Vec::new();
        let done = walk(BYTES, &mut |field| {
            let text = field.text.as_ref();
            let text = text.map(|text| str::from_utf8(&BYTES[text.content.clone()]).unwrap());
            seen.push(format!("{:?} {} {text:?}", field.path, field.element));
        });
        assert_eq!(done, Some(()));
        let expected = [
            "[1] 0 None",
            "[3] 0 None",
            "[3, 1] 0 Some(\"a\")",
            "[3, 1] 1 Some(\"bc\")",
            "[4] 0 None",
        ];
        assert_eq!(seen, expected);
        for n in 0..BYTES.len() {
            assert_eq!(walk(&BYTES[..n], &mut |_| {}), None, "{n}");
        }
    }

    #[test]
    fn lists_without_end_inside_each_other_are_no_structure() {
        // A list with one item, which is such a list.
        let bytes = vec![0x19; 1 << 20];
        assert_eq!(walk(&bytes, &mut |_| {}), None);
        // The same with structures and maps.
        assert_eq!(walk(&vec![0x1c; 1 << 20], &mut |_| {}), None);
        let maps = [&[0x1b][..], &[1, 0xbb].repeat(1 << 19)].concat();
        assert_eq!(walk(&maps, &mut |_| {}), None);
    }
}
