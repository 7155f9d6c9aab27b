//! Verifies the signature of a certificate authority on a host certificate. `certificate` uses
//! this module.
//!
//! OpenSSL verifies the signature, as in the built-in SSH (libssh2).

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::ecdsa::EcdsaSig;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::rsa::Rsa;
use openssl::sign::Verifier;
use ssh_key::public::{EcdsaPublicKey, KeyData};
use ssh_key::{Algorithm, Certificate, HashAlg};

use super::key::take_string;

/// True if the signature of the certificate is valid. `blob` is the certificate in wire format;
/// the signature covers all fields before the signature.
pub(super) fn is_valid(certificate: &Certificate, blob: &[u8]) -> bool {
    let signature = certificate.signature();
    let bytes = signature.as_bytes();
    // A signature in wire format is two strings, each after 4 bytes of length: the algorithm and
    // the signature bytes.
    let length = 4 + signature.algorithm().as_str().len() + 4 + bytes.len();
    let Some(signed) = signed_part(blob, length) else { return false };
    let valid = match (certificate.signature_key(), signature.algorithm()) {
        (KeyData::Ed25519(key), Algorithm::Ed25519) => {
            PKey::public_key_from_raw_bytes(&key.0, Id::ED25519)
                .and_then(|key| Verifier::new_without_digest(&key)?.verify_oneshot(bytes, signed))
        }
        (KeyData::Ecdsa(key), Algorithm::Ecdsa { curve }) if key.curve() == curve => {
            ecdsa(key, bytes, signed)
        }
        // SHA-1 signatures of RSA keys are rejected, as in OpenSSH.
        (KeyData::Rsa(key), Algorithm::Rsa { hash: Some(hash) }) => {
            let digest = match hash {
                HashAlg::Sha512 => MessageDigest::sha512(),
                _ => MessageDigest::sha256(),
            };
            rsa(key, bytes, signed, digest)
        }
        _ => Ok(false),
    };
    valid.unwrap_or(false)
}

/// Returns the bytes before the signature, which is the last field of a certificate. Returns
/// `None` if the last field does not have `signature_length` bytes.
fn signed_part(blob: &[u8], signature_length: usize) -> Option<&[u8]> {
    let (signed, field) = blob.split_at(blob.len().checked_sub(signature_length)?.checked_sub(4)?);
    matches!(take_string(field), Some((_, []))).then_some(signed)
}

fn rsa(
    key: &ssh_key::public::RsaPublicKey,
    signature: &[u8],
    signed: &[u8],
    digest: MessageDigest,
) -> Result<bool, ErrorStack> {
    let number = |number: &ssh_key::Mpint| BigNum::from_slice(number.as_bytes());
    let key = PKey::from_rsa(Rsa::from_public_components(number(&key.n)?, number(&key.e)?)?)?;
    Verifier::new(digest, &key)?.verify_oneshot(signature, signed)
}

fn ecdsa(key: &EcdsaPublicKey, signature: &[u8], signed: &[u8]) -> Result<bool, ErrorStack> {
    let (curve, digest) = match key {
        EcdsaPublicKey::NistP256(_) => (Nid::X9_62_PRIME256V1, MessageDigest::sha256()),
        EcdsaPublicKey::NistP384(_) => (Nid::SECP384R1, MessageDigest::sha384()),
        EcdsaPublicKey::NistP521(_) => (Nid::SECP521R1, MessageDigest::sha512()),
    };
    let Some((r, rest)) = take_string(signature) else { return Ok(false) };
    let Some((s, [])) = take_string(rest) else { return Ok(false) };
    let signature =
        EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?;
    let group = EcGroup::from_curve_name(curve)?;
    let point = EcPoint::from_bytes(&group, key.as_sec1_bytes(), &mut *BigNumContext::new()?)?;
    let key: PKey<Public> = PKey::from_ec_key(EcKey::from_public_key(&group, &point)?)?;
    Verifier::new(digest, &key)?.verify_oneshot(&signature.to_der()?, signed)
}
