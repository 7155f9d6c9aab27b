//! Verifies a host certificate: type, time, name, options, and the authority's signature.

use ssh_key::Certificate;
use ssh_key::certificate::CertType;

use super::{CertificateTerms, key, pattern, signature};
use crate::fleet::quote::quote;

/// Returns the key of the signing authority, in wire format.
pub(super) fn authority(certificate: &Certificate) -> Vec<u8> {
    key::wire_form(certificate.signature_key()).unwrap_or_default()
}

/// Verifies a certificate whose authority is recorded. The error is the violated condition.
pub(super) fn check(
    certificate: &Certificate,
    blob: &[u8],
    terms: &CertificateTerms<'_>,
) -> Result<(), String> {
    let CertificateTerms { principal: name, unix_s, signatures } = *terms;
    let defects = [
        (certificate.cert_type() != CertType::Host, "it is a user certificate"),
        (unix_s < certificate.valid_after(), "it is not valid yet"),
        (unix_s >= certificate.valid_before(), "it has expired"),
        (!certificate.critical_options().is_empty(), "it has unsupported critical options"),
    ];
    if let Some((_, defect)) = defects.into_iter().find(|(is_found, _)| *is_found) {
        return Err(defect.into());
    }
    let principals = certificate.valid_principals();
    if principals.is_empty() {
        // ssh accepts such a certificate for each host of the authority.
        return Err(format!("it names no host, and rdmactl requires the name {name} in it"));
    }
    if !principals.iter().any(|principal| pattern::matches(&principal.to_lowercase(), name)) {
        let principals = quote(&principals.join(", "));
        return Err(format!("its principals are {principals}, not {name}"));
    }
    let algorithm = certificate.signature().algorithm();
    let algorithm = algorithm.as_str();
    if !signatures.is_empty() && !signatures.iter().any(|allowed| allowed == algorithm) {
        return Err(format!(
            "its authority signed with {algorithm}, which CASignatureAlgorithms of the SSH \
             configuration does not allow"
        ));
    }
    let is_valid = signature::is_valid(certificate, blob);
    is_valid.then_some(()).ok_or_else(|| "the signature of the authority is invalid".into())
}
