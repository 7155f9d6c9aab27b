//! Chooses the fix for an error of a library or of the kernel, for `verbs_self` and `ping`.

use crate::model::{Fix, KnownFix};
use crate::sys::cm::{CmError, CmStep};
use crate::sys::umad::UmadError;
use crate::sys::verbs::{VerbsError, VerbsOperation};
use crate::sys::{Errno, LoadError};

/// Returns the fix for a library that cannot be loaded; `None` if the library is installed, but
/// the dynamic loader rejects it.
pub fn of_load(error: &LoadError) -> Option<Fix> {
    let LoadError::Missing { soname, .. } = error else { return None };
    let is_rdmacm = soname.contains("rdmacm");
    Some(if is_rdmacm { KnownFix::InstallRdmacm } else { KnownFix::InstallVerbs }.into())
}

/// Returns the fix for an error of libibverbs; `None` if no fix is known.
pub fn of_verbs(error: &VerbsError) -> Option<Fix> {
    match error {
        VerbsError::Load(error) => of_load(error),
        VerbsError::NoKernelSupport => Some(KnownFix::LoadUverbs.into()),
        VerbsError::Call { operation: VerbsOperation::Open, errno: Errno::ACCESS, .. } => {
            Some(KnownFix::AllowDeviceFiles.into())
        }
        _ => None,
    }
}

/// Returns the fix for an error of `rdma_cm`; `None` if no fix is known.
pub fn of_connection_manager(error: &CmError) -> Option<Fix> {
    match error {
        CmError::Load(error) => of_load(error),
        CmError::Verbs(error) => of_verbs(error),
        CmError::Call {
            step: CmStep::Start, errno: Errno::ACCESS | Errno::NOT_PERMITTED, ..
        } => Some(KnownFix::AllowConnectionManager.into()),
        CmError::Call {
            step: CmStep::Start, errno: Errno::NO_DEVICE | Errno::NO_ENTRY, ..
        } => Some(KnownFix::LoadConnectionManager.into()),
        _ => None,
    }
}

/// Returns the fix for an error of umad; `None` if no fix is known.
pub fn of_umad(error: &UmadError) -> Option<Fix> {
    match error {
        UmadError::Open { path, errno: Errno::ACCESS | Errno::NOT_PERMITTED } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Some(KnownFix::AllowUmad.with(&[&name]))
        }
        UmadError::Open { errno: Errno::NO_ENTRY, .. } => Some(KnownFix::LoadUmad.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_names_its_package() {
        let text = |soname: &str| {
            let error = LoadError::Missing { soname: soname.into(), text: "no such file".into() };
            of_load(&error).unwrap().as_str().to_owned()
        };
        assert!(text("libibverbs.so.1").contains("ibverbs-providers"));
        assert!(text("librdmacm.so.1").contains("librdmacm1"));
        let broken = LoadError::Broken { soname: "libibverbs.so.1".into(), text: "?".into() };
        assert_eq!(of_verbs(&VerbsError::Load(broken)), None);
    }

    #[test]
    fn a_missing_umad_device_names_its_module() {
        let error = |path: &str, errno| UmadError::Open { path: path.into(), errno };
        let text = |error| of_umad(&error).unwrap().as_str().to_owned();
        assert_eq!(text(error("/dev/x", Errno::NO_ENTRY)), "modprobe ib_umad");
        assert!(text(error("/dev/x", Errno::ACCESS)).ends_with("ls -l /dev/infiniband/x"));
        assert_eq!(of_umad(&error("/dev/x", Errno::NO_DEVICE)), None);
    }
}
