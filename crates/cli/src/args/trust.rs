//! Which kernels of files are run.

use clap::Args;

/// The option `--trust-kernel` of commands that decode.
#[derive(Debug, Default, Args)]
pub struct Trust {
    /// Run the file's kernel with this BLAKE3 digest, which `tarsia inspect` shows, if this program does not know an
    /// encoding; may be given several times. The kernels that this program ships are always trusted
    #[arg(long = "trust-kernel", value_name = "DIGEST", value_parser = parse_digest)]
    pub kernels: Vec<[u8; 32]>,
}

fn parse_digest(text: &str) -> Result<[u8; 32], String> {
    let what = || format!("`{text}` is no BLAKE3 digest: 64 hexadecimal digits");
    let (digits, []) = text.as_bytes().as_chunks::<2>() else {
        return Err(what());
    };
    let byte = |pair: &[u8; 2]| {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        Some((high? << 4 | low?) as u8)
    };
    let bytes: Option<Vec<u8>> = digits.iter().map(byte).collect();
    bytes.and_then(|it| it.try_into().ok()).ok_or_else(what)
}
