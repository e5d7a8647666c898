//! temp
use std::sync::Arc; use std::time::Instant;
use arrow_array::*; use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use tarsia::*;
use arrow_array as _;
struct Rng(u64);
impl Rng { fn new(s: u64) -> Self { Rng(s) } fn u64(&mut self) -> u64 { self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15); let mut z = self.0; z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9); z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB); z ^ (z >> 31) } fn below(&mut self, n: usize) -> usize { (self.u64() % n as u64) as usize } fn flip(&mut self) -> bool { self.u64() & 1 == 1 } }
fn main() {
    let n = 1_000_000usize; let mut rng = Rng::new(5);
    let text: Vec<String> = (0..n).map(|_| format!("user {} clicked {} at {}", rng.below(100000), ["home","cart","search","checkout"][rng.below(4)], rng.below(1000000))).collect();
    let cols: Vec<(&str, ArrayRef)> = vec![
        ("int random 64", Arc::new(Int64Array::from_iter_values((0..n).map(|_| rng.u64() as i64)))),
        ("int 17 bits", Arc::new(Int64Array::from_iter_values((0..n).map(|_| rng.below(100_000) as i64)))),
        ("int rising", Arc::new(Int64Array::from_iter_values((0..n).map(|i| i as i64 * 3)))),
        ("int nulls", Arc::new(Int32Array::from_iter((0..n).map(|i| (i%5!=0).then_some(rng.below(1000) as i32))))),
        ("price", Arc::new(Float64Array::from_iter_values((0..n).map(|_| rng.below(1_000_000) as f64 / 100.0)))),
        ("float random", Arc::new(Float64Array::from_iter_values((0..n).map(|_| (rng.u64() >> 11) as f64 * 1e-9)))),
        ("bool", Arc::new(BooleanArray::from_iter((0..n).map(|_| Some(rng.flip()))))),
        ("dict text", Arc::new(StringArray::from_iter_values((0..n).map(|_| ["alpha","beta","gamma","delta"][rng.below(4)])))),
        ("unique text", Arc::new(StringArray::from_iter_values(text.iter()))),
        ("list", {
            let mut b = builder::ListBuilder::new(builder::Int32Builder::new());
            for i in 0..n { for k in 0..(i%5) { b.values().append_value(k as i32 * 7 + (i%100) as i32); } b.append(true); }
            Arc::new(b.finish()) }),
    ];
    println!("{:<14} {:>8} | share gather_ms/whole_ms ...", "column", "run");
    for (name, array) in cols {
        let batch = RecordBatch::try_from_iter([("x", array)]).unwrap();
        let mut w = Writer::new(Vec::new(), batch.schema(), WriteOptions::new().with_embed_kernels(EmbedKernels::Omit)).unwrap();
        w.write(&batch).unwrap();
        let file = File::from_bytes(w.finish_into().unwrap().0, OpenOptions::new().with_threads(Threads::One)).unwrap();
        for run in [1usize, 5, 40] {
            print!("{name:<14} {run:>8} |");
            for share in [2usize, 4, 6, 8, 12, 16, 32, 64, 256] {
                let mut bits = vec![false; n]; let mut at = rng.below(run * share);
                while at < n { let len = 1 + rng.below(2*run - 1); for b in bits.iter_mut().skip(at).take(len) { *b = true; } at += len + 1 + rng.below((run * (share-1) * 2).max(1)); }
                let bits = BooleanBuffer::from(bits);
                let sel = RowSelection::from_bits(0, bits.clone());
                let mut ts = [vec![], vec![]];
                for _ in 0..5 {
                    let t = Instant::now();
                    let a: usize = file.scan().selection(sel.clone()).build().unwrap().map(|b| b.unwrap().num_rows()).sum();
                    ts[0].push(t.elapsed().as_secs_f64()*1e3);
                    let t = Instant::now(); let mut at = 0; let mut c = 0;
                    for b in file.scan().build().unwrap() { let b = b.unwrap(); let m = BooleanArray::new(bits.slice(at, b.num_rows()), None); at += b.num_rows(); c += filter_record_batch(&b, &m).unwrap().num_rows(); }
                    ts[1].push(t.elapsed().as_secs_f64()*1e3);
                    assert_eq!(a, c);
                }
                for t in &mut ts { t.sort_by(f64::total_cmp); }
                print!(" {}:{:.2}/{:.2}", share, ts[0][2], ts[1][2]);
            }
            println!();
        }
    }
}
