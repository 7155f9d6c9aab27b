//! The first words of a far end, of any content.

use rdmactl::render::escape;
use rdmactl::wire::read_greeting;

use super::shown::is_harmless;

const NONCE: &str = "c0ffee";

/// Reads a greeting: nobody is greeted by who does not know the nonce, and an error quotes little.
pub fn run(data: &[u8]) {
    let mut stream = data;
    match read_greeting(&mut stream, &NONCE, "RDMACTL/none") {
        Ok(greeting) => {
            assert!(data.windows(NONCE.len()).any(|part| part == NONCE.as_bytes()));
            assert!(is_harmless(&escape(&greeting.version)));
        }
        Err(error) => {
            let said = error.to_string();
            assert!(is_harmless(&escape(&said)) && said.len() <= 2_500, "{said:?}");
        }
    }
}
