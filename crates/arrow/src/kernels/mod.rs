//! Arrays of strings from checked parts.
//!
//! Arrow's safe constructors check offsets and text too, but value by value and with the standard library's UTF-8
//! check: on German text that took three quarters of a scan. Here one pass checks the offsets, one (`simdutf8`) the
//! text, and the constructors that check nothing are used. The safe constructors stand beside them in the tests as
//! oracle.
#![expect(
    unsafe_code,
    reason = "constructors without checks; each use names the check that makes it sound"
)]

mod selected;

use arrow_array::types::{
    ArrowDictionaryKeyType, BinaryViewType, ByteArrayType, ByteViewType, StringViewType,
};
use arrow_array::{
    ArrayRef, DictionaryArray, GenericByteArray, GenericByteViewArray, PrimitiveArray,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_data::MAX_INLINE_VIEW_LEN;
use arrow_schema::DataType;
use tarsia_codec::toolbox::{VIEW_BYTES, write_views};
use tarsia_codec::{BitSlice, Error, Result, limits};

use crate::pool::Pool;

pub(super) use selected::{selected_strings, selected_views, taken_strings, taken_views};

/// Offsets and bytes of strings that were checked: offsets start at 0, do not fall and end where the data ends, below 2
/// GiB; for text the data is UTF-8 and no offset stands inside a character.
pub(super) struct Strings {
    ends: ScalarBuffer<u32>,
    data: Buffer,
    is_text: bool,
}

impl Strings {
    /// Checks the parts.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for bad offsets, [`ErrorKind::Corrupt`] for text that is not UTF-8.
    pub(super) fn new(ends: ScalarBuffer<u32>, data: Buffer, is_text: bool) -> Result<Self> {
        let falls = ends
            .windows(2)
            .fold(false, |falls, pair| falls | (pair[0] > pair[1]));
        let fits = ends.first() == Some(&0)
            && ends.last().map(|end| *end as usize) == Some(data.len())
            && data.len() <= limits::ARROW_OFFSET_MAX as usize;
        if falls || !fits {
            return Err(Error::invalid("a decoder returned bad ends"));
        }
        if is_text {
            check_text(&ends, &data)?;
        }
        Ok(Self {
            ends,
            data,
            is_text,
        })
    }

    /// An array with 32-bit offsets.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where validity has another length or the type is text and the data was not checked
    /// as such.
    pub(super) fn narrow<T: ByteArrayType<Offset = i32>>(
        self,
        is_text: bool,
        nulls: Option<NullBuffer>,
    ) -> Result<GenericByteArray<T>> {
        self.check(is_text, nulls.as_ref())?;
        let offsets = ScalarBuffer::<i32>::from(self.ends.into_inner());
        // SAFETY: `new` checked that the offsets start at 0, do not fall and are at most `i32::MAX`, so they read the
        // same as i32.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        // SAFETY: `new` checked that the last offset is the data's length and, for text, that the data is UTF-8 with
        // every offset at the start of a character; `check` that this holds for the type asked for and that validity
        // has one bit per value.
        Ok(unsafe { GenericByteArray::new_unchecked(offsets, self.data, nulls) })
    }

    /// An array with 64-bit offsets.
    ///
    /// # Errors
    /// As [`Strings::narrow`].
    pub(super) fn wide<T: ByteArrayType<Offset = i64>>(
        self,
        is_text: bool,
        nulls: Option<NullBuffer>,
    ) -> Result<GenericByteArray<T>> {
        self.check(is_text, nulls.as_ref())?;
        let wide: Vec<i64> = self.ends.iter().map(|end| i64::from(*end)).collect();
        // SAFETY: as in `narrow`; widening keeps values and order.
        let offsets = unsafe { OffsetBuffer::new_unchecked(wide.into()) };
        // SAFETY: as in `narrow`.
        Ok(unsafe { GenericByteArray::new_unchecked(offsets, self.data, nulls) })
    }

    /// An array of views, in memory of the pool where there is one.
    ///
    /// # Errors
    /// As [`Strings::narrow`].
    fn viewed<T: ByteViewType>(
        self,
        is_text: bool,
        nulls: Option<NullBuffer>,
        pool: Option<&Pool>,
    ) -> Result<GenericByteViewArray<T>> {
        self.check(is_text, nulls.as_ref())?;
        let rows = self.ends.len() - 1;
        let views = match pool {
            Some(pool) => {
                let bytes = rows * VIEW_BYTES;
                let mut views = pool.take(bytes);
                let to = bytemuck::try_cast_slice_mut(&mut views);
                let to = to.map_err(|_| Error::invalid("memory for views is not aligned"))?;
                write_views(&self.ends, &self.data, 0, 0, to);
                ScalarBuffer::new(pool.into_buffer(views, bytes), 0, rows)
            }
            None => {
                let mut views = vec![0; rows];
                write_views(&self.ends, &self.data, 0, 0, &mut views);
                views.into()
            }
        };
        // SAFETY: `write_views` copies short values and makes views of `start..end` for each pair of offsets, all
        // inside the one buffer and at the starts of characters, as `new` checked; `check` is as in `narrow`.
        Ok(unsafe { GenericByteViewArray::new_unchecked(views, vec![self.data], nulls) })
    }

    /// Text as views.
    ///
    /// # Errors
    /// As [`Strings::narrow`].
    pub(super) fn text_views(
        self,
        nulls: Option<NullBuffer>,
        pool: Option<&Pool>,
    ) -> Result<GenericByteViewArray<StringViewType>> {
        self.viewed(true, nulls, pool)
    }

    /// Byte strings as views.
    ///
    /// # Errors
    /// As [`Strings::narrow`].
    pub(super) fn binary_views(
        self,
        nulls: Option<NullBuffer>,
        pool: Option<&Pool>,
    ) -> Result<GenericByteViewArray<BinaryViewType>> {
        self.viewed(false, nulls, pool)
    }

    fn check(&self, is_text: bool, nulls: Option<&NullBuffer>) -> Result<()> {
        let rows = self.ends.len() - 1;
        if is_text && !self.is_text || nulls.is_some_and(|nulls| nulls.len() != rows) {
            return Err(Error::invalid(
                "offsets, data and validity do not fit each other",
            ));
        }
        Ok(())
    }
}

fn check_text(ends: &[u32], data: &[u8]) -> Result<()> {
    if data.is_ascii() {
        return Ok(());
    }
    if simdutf8::basic::from_utf8(data).is_err() {
        let at = simdutf8::compat::from_utf8(data).map_or_else(|error| error.valid_up_to(), |_| 0);
        return Err(Error::corrupt("text", at, data[at], "UTF-8"));
    }
    // A byte 0b10xx_xxxx continues a character.
    let inside = |end: u32| {
        data.get(end as usize)
            .is_some_and(|byte| byte & 0xc0 == 0x80)
    };
    match ends.iter().find(|end| inside(**end)) {
        Some(end) => Err(cut_character(*end as usize, *end)),
        None => Ok(()),
    }
}

/// An array of views into `data`, which are checked.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for views outside of the data and for validity of another length,
/// [`ErrorKind::Corrupt`] for text that is not UTF-8.
pub(super) fn checked_views<T: ByteViewType>(
    views: ScalarBuffer<u128>,
    data: Vec<Buffer>,
    nulls: Option<NullBuffer>,
    is_text: bool,
) -> Result<GenericByteViewArray<T>> {
    // `T` says what is promised of the strings; `is_text` may not promise less.
    let is_text = is_text || T::DATA_TYPE == DataType::Utf8View;
    check_views(&views, &data, is_text)?;
    if nulls
        .as_ref()
        .is_some_and(|nulls| nulls.len() != views.len())
    {
        return Err(Error::invalid("views and validity differ in number"));
    }
    // SAFETY: `check_views` found every long view inside of its buffer and, for text, every string to be UTF-8;
    // validity has one bit per view.
    Ok(unsafe { GenericByteViewArray::new_unchecked(views, data, nulls) })
}

/// Views that are checked at a time.
const CHUNK_VIEWS: usize = 1024;

fn check_views(views: &[u128], data: &[Buffer], is_text: bool) -> Result<()> {
    if is_text {
        for buffer in data {
            check_text(&[], buffer)?;
        }
    }
    let are_ascii: Vec<bool> = data.iter().map(|it| !is_text || it.is_ascii()).collect();
    // No view reaches into what is not ASCII, or behind the last buffer, where this is zero.
    let ascii_bytes = data.iter().zip(&are_ascii).map(|(buffer, is_ascii)| {
        let bytes = if *is_ascii { buffer.len() } else { 0 };
        bytes as u64
    });
    let ascii_bytes: Vec<u64> = ascii_bytes.chain([0]).collect();
    for views in views.chunks(CHUNK_VIEWS) {
        if !are_in_ascii(views, &ascii_bytes, is_text) {
            check_each_view(views, data, &are_ascii, is_text)?;
        }
    }
    Ok(())
}

/// Whether each view is of a short string, which is ASCII if it is text, or lies in the first of its buffer's
/// `ascii_bytes`. The last of these are for buffers that there are not. Nothing branches on a view: short and long
/// strings follow each other by chance.
fn are_in_ascii(views: &[u128], ascii_bytes: &[u64], is_text: bool) -> bool {
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    let beyond = ascii_bytes.len() - 1;
    let (mut is_outside, mut seen) = (false, 0);
    for view in views {
        // In halves: the processor has no shifts of 128 bits.
        let (low, high) = (*view as u64, (*view >> 64) as u64);
        let is_short = low as u32 <= MAX_INLINE_VIEW_LEN;
        let end = (high >> 32) + u64::from(low as u32);
        let bytes = ascii_bytes[(high as u32 as usize).min(beyond)];
        is_outside |= !is_short & (end > bytes);
        seen |= (low >> 32 | high) & u64::from(is_short).wrapping_neg();
    }
    !is_outside && (!is_text || seen & HIGH_BITS == 0)
}

fn check_each_view(
    views: &[u128],
    data: &[Buffer],
    are_ascii: &[bool],
    is_text: bool,
) -> Result<()> {
    let outside = || Error::invalid("views that do not fit their data");
    // A byte 0b10xx_xxxx continues a character.
    let continues = |byte: Option<&u8>| byte.is_some_and(|byte| byte & 0xc0 == 0x80);
    for view in views {
        let length = *view as u32;
        if length <= MAX_INLINE_VIEW_LEN {
            let string = *view >> 32;
            let is_ascii = string & u128::from_le_bytes([0x80; 16]) == 0;
            if is_text && !is_ascii {
                check_text(&[], &string.to_le_bytes()[..length as usize])?;
            }
            continue;
        }
        let (buffer, start) = ((*view >> 64) as u32 as usize, (*view >> 96) as usize);
        let bytes = data.get(buffer).ok_or_else(outside)?;
        let end = start + length as usize;
        if end > bytes.len() {
            return Err(outside());
        }
        if !are_ascii[buffer] && (continues(bytes.get(start)) || continues(bytes.get(end))) {
            return Err(cut_character(start, length));
        }
    }
    Ok(())
}

/// Validity with its nulls counted. Arrow counts bits without the processor's instruction for it, since it is compiled
/// for every x86-64: four times as long.
pub(super) fn counted_nulls(bits: BooleanBuffer) -> NullBuffer {
    match BitSlice::new(bits.values(), bits.offset(), bits.len()) {
        Ok(slice) => {
            let n_nulls = slice.len() - slice.count_ones();
            // SAFETY: these are the zeros among these same bits.
            unsafe { NullBuffer::new_unchecked(bits, n_nulls) }
        }
        Err(_) => NullBuffer::new(bits),
    }
}

/// Without an early exit and without a look at validity, so that the loop vectorises.
fn are_at_most<T: ArrowNativeType + Ord>(keys: &[T], largest: T) -> bool {
    !keys
        .iter()
        .fold(false, |is_beyond, key| is_beyond | (*key > largest))
}

/// A dictionary array whose keys are checked.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a key that numbers no value.
pub(super) fn checked_dictionary<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    values: ArrayRef,
) -> Result<DictionaryArray<K>> {
    let largest = values.len().checked_sub(1);
    let fits = largest.is_some_and(|largest| K::Native::from_usize(largest).is_some());
    let bytes = keys.values().inner();
    let largest = largest.unwrap_or_default();
    let are_inside = fits
        && match size_of::<K::Native>() {
            1 => are_at_most(bytes.typed_data(), largest as u8),
            2 => are_at_most(bytes.typed_data(), largest as u16),
            4 => are_at_most(bytes.typed_data(), largest as u32),
            _ => are_at_most(bytes.typed_data(), largest as u64),
        };
    if are_inside {
        // SAFETY: every key, also that of a null row, is at most the place of the last value; read as an unsigned
        // number, a negative key is larger than any place that fits its type.
        return Ok(unsafe { DictionaryArray::new_unchecked(keys, values) });
    }
    // Keys of null rows may be any number.
    DictionaryArray::try_new(keys, values)
        .map_err(|_| Error::invalid("a dictionary key is out of range"))
}

#[cold]
fn cut_character(at: usize, found: u32) -> Error {
    Error::corrupt(
        "text",
        at,
        found,
        "UTF-8 with values cut between characters",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{
        GenericBinaryType, GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    };
    use arrow_array::{Array, BinaryArray, LargeStringArray, StringArray, StringViewArray};
    use tarsia_codec::ErrorKind;

    fn parts(values: &[&[u8]]) -> (ScalarBuffer<u32>, Buffer) {
        let mut ends = vec![0u32];
        let mut data = Vec::new();
        for value in values {
            data.extend_from_slice(value);
            ends.push(data.len() as u32);
        }
        (ends.into(), data.into())
    }

    #[test]
    fn arrays_equal_those_of_the_safe_constructors() {
        let texts = [
            "",
            "oak",
            "élan",
            "",
            "a string that is longer than a view",
            "日本",
        ];
        let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let nulls = NullBuffer::from(vec![true, true, false, true, true, true]);
        let strings = |is_text| {
            let (ends, data) = parts(&bytes);
            Strings::new(ends, data, is_text).unwrap()
        };
        let values = texts
            .iter()
            .enumerate()
            .map(|(i, text)| (i != 2).then_some(*text));
        let narrow: StringArray = strings(true)
            .narrow::<GenericStringType<i32>>(true, Some(nulls.clone()))
            .unwrap();
        assert_eq!(narrow, StringArray::from_iter(values.clone()));
        narrow.to_data().validate_full().unwrap();
        let wide: LargeStringArray = strings(true)
            .wide::<GenericStringType<i64>>(true, Some(nulls.clone()))
            .unwrap();
        assert_eq!(wide, LargeStringArray::from_iter(values.clone()));
        wide.to_data().validate_full().unwrap();
        let views = strings(true).text_views(Some(nulls.clone()), None).unwrap();
        assert_eq!(views, StringViewArray::from_iter(values));
        views.to_data().validate_full().unwrap();
        let binary: BinaryArray = strings(false)
            .narrow::<GenericBinaryType<i32>>(false, None)
            .unwrap();
        assert_eq!(binary, BinaryArray::from_iter_values(bytes.iter()));
        strings(false)
            .binary_views(None, Some(&Pool::new(0)))
            .unwrap()
            .to_data()
            .validate_full()
            .unwrap();
        // Not checked as text, so not given as text; validity of another length.
        assert!(
            strings(false)
                .narrow::<GenericStringType<i32>>(true, None)
                .is_err()
        );
        let short = NullBuffer::from(vec![true]);
        assert!(strings(true).text_views(Some(short), None).is_err());
    }

    #[test]
    fn views_are_checked() {
        let long = "a string that is longer than a view, also in café";
        let texts = [Some("oak"), Some("élan"), None, Some(long), Some("")];
        let expect = StringViewArray::from_iter(texts);
        let (views, data, nulls) = expect.clone().into_parts();
        let data: Vec<Buffer> = data.to_vec();
        let text = |views: &[u128], data: &[Buffer], nulls: Option<NullBuffer>| {
            let views = ScalarBuffer::from(views.to_vec());
            checked_views::<StringViewType>(views, data.to_vec(), nulls, false)
        };
        assert_eq!(text(&views, &data, nulls.clone()).unwrap(), expect);
        // Validity of another length; no buffer, an offset or a length beyond it.
        let short = NullBuffer::from(vec![true]);
        assert!(text(&views, &data, Some(short)).is_err());
        assert!(text(&views, &[], nulls.clone()).is_err());
        for change in [1u128 << 64, 1 << 96, u128::from(u32::MAX) << 96, 1 << 20] {
            let mut views = views.to_vec();
            views[3] += change;
            assert!(text(&views, &data, nulls.clone()).is_err(), "{change:x}");
        }
        // Strings cut inside a character, short and long, and bytes that are no text.
        let cut = (views[1] & !0xffff_ffff) | 1;
        assert!(text(&[cut], &data, None).is_err());
        assert!(text(&[views[3] - 1], &data, None).is_err());
        let bytes = Buffer::from(b"\xff and more than twelve bytes".to_vec());
        let view = tarsia_codec::toolbox::view_of(&bytes, 0, 0);
        assert!(text(&[view], std::slice::from_ref(&bytes), None).is_err());
        let binary = checked_views::<BinaryViewType>(vec![view].into(), vec![bytes], None, false);
        binary.unwrap().to_data().validate_full().unwrap();
    }

    #[test]
    fn chunks_of_views_agree_with_single_views() {
        let long = |i: usize| format!("string {i} that is longer than a view");
        let texts = (0..3 * CHUNK_VIEWS).map(|i| match i % 3 {
            0 => format!("{i}"),
            _ => long(i),
        });
        let good: StringViewArray = texts.map(Some).collect();
        let (views, data, _) = good.into_parts();
        let accent = Buffer::from(long(7).replace('g', "é").into_bytes());
        let data: Vec<Buffer> = data.iter().cloned().chain([accent.clone()]).collect();
        let in_accent = |start: u32, length: u32| {
            let place = u128::from(start) << 32 | (data.len() - 1) as u128;
            place << 64 | u128::from(length)
        };
        let bytes = data[0].len() as u128;
        let changed = [
            (views[1], true),
            (
                tarsia_codec::toolbox::view_of("élan".as_bytes(), 0, 0),
                true,
            ),
            (in_accent(0, accent.len() as u32), true),
            (views[1] & !0xffff_ffff | (bytes + 1), false),
            (views[1] | (data.len() as u128) << 64, false),
            (views[1] | u128::from(u32::MAX) << 64, false),
            (in_accent(0, accent.len() as u32 + 1), false),
            (in_accent(6, 20), false),
            (0xc3 << 32 | 1, false),
        ];
        for (i, (view, is_good)) in changed.into_iter().enumerate() {
            let mut views = views.to_vec();
            views[CHUNK_VIEWS + 5] = view;
            let are_ascii: Vec<bool> = data.iter().map(|buffer| buffer.is_ascii()).collect();
            let each = check_each_view(&views, &data, &are_ascii, true);
            assert_eq!(check_views(&views, &data, true), each, "{i}");
            assert_eq!(each.is_ok(), is_good, "{i}: {each:?}");
        }
        assert_eq!(check_views(&[], &[], true), Ok(()));
        assert_eq!(check_views(&[0], &[], true), Ok(()));
    }

    #[test]
    fn dictionaries_are_those_of_the_safe_constructor() {
        fn check<K: ArrowDictionaryKeyType>(keys: Vec<K::Native>, n_values: usize) {
            let values: StringArray = (0..n_values).map(|i| Some(format!("{i}"))).collect();
            let values: ArrayRef = std::sync::Arc::new(values);
            for nulls in [None, Some(NullBuffer::new_null(keys.len()))] {
                let keys = PrimitiveArray::<K>::new(keys.clone().into(), nulls);
                let safe = DictionaryArray::try_new(keys.clone(), values.clone());
                let fast = checked_dictionary(keys, values.clone());
                assert_eq!(fast.ok(), safe.ok());
            }
        }
        for n_values in [0, 1, 2, 100, 127, 128, 129, 300] {
            check::<Int8Type>(vec![], n_values);
            check::<Int8Type>(vec![0, 1, 99], n_values);
            check::<Int8Type>(vec![0, -1], n_values);
            check::<Int8Type>(vec![127, 0], n_values);
            check::<UInt8Type>(vec![127, 128, 255], n_values);
            check::<Int16Type>(vec![0, i16::MIN], n_values);
            check::<UInt16Type>(vec![299, 0], n_values);
            check::<Int32Type>(vec![0, 128], n_values);
            check::<Int32Type>(vec![i32::MIN], n_values);
            check::<UInt32Type>(vec![1, u32::MAX], n_values);
            check::<Int64Type>(vec![1, 1 << 32], n_values);
            check::<UInt64Type>(vec![1, 0], n_values);
        }
    }

    #[test]
    fn nulls_are_counted_as_arrow_counts_them() {
        let bits: BooleanBuffer = (0..1000).map(|i| i % 7 < 5).collect();
        for (start, len) in [(0, 1000), (3, 0), (3, 77), (64, 64), (8, 900)] {
            let bits = bits.slice(start, len);
            let (ours, theirs) = (counted_nulls(bits.clone()), NullBuffer::new(bits));
            assert_eq!(ours.null_count(), theirs.null_count());
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn bad_parts_are_refused() {
        let new = |ends: Vec<u32>, data: &[u8]| {
            Strings::new(ends.into(), Buffer::from(data.to_vec()), true).map(drop)
        };
        assert_eq!(new(vec![0, 1, 3], "aé".as_bytes()), Ok(()));
        for ends in [
            vec![],
            vec![1, 3],
            vec![0, 4],
            vec![0, 2],
            vec![0, 3, 1, 3],
            vec![0, 5, 3],
        ] {
            assert!(new(ends.clone(), b"abc").is_err(), "{ends:?}");
        }
        assert!(matches!(
            new(vec![0, 3], b"a\xffc")
                .as_ref()
                .map_err(|error| error.kind()),
            Err(ErrorKind::Corrupt { at_byte: 1, .. })
        ));
        assert!(matches!(
            new(vec![0, 2, 3], "aé".as_bytes())
                .as_ref()
                .map_err(|error| error.kind()),
            Err(ErrorKind::Corrupt { at_byte: 2, .. })
        ));
        // A character cut at the end of the data.
        assert!(new(vec![0, 2], b"a\xc3").is_err());
    }
}
