//! Encodes and decodes the common header of every MAD, which has 24 bytes (specification 13.4.3).

use super::MAD_BYTES;

/// Management class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Class(pub u8);

impl Class {
    /// Subnet management, routed by LID.
    pub const SUBNET_LID: Self = Self(0x01);
    /// Subnet management, routed by a list of ports.
    pub const SUBNET_DIRECTED: Self = Self(0x81);
    /// Subnet administration.
    pub const SUBNET_ADMINISTRATION: Self = Self(0x03);
    /// Performance management.
    pub const PERFORMANCE: Self = Self(0x04);
    /// Vendor class of ibping.
    pub const PING: Self = Self(0x32);
    /// Base version and class version of Omni-Path, whose MADs have 2,048 bytes.
    pub const OMNI_PATH_VERSION: u8 = 0x80;

    /// True for the classes of subnet management, which use queue pair 0.
    pub fn is_subnet_management(self) -> bool {
        [Self::SUBNET_LID, Self::SUBNET_DIRECTED].contains(&self)
    }

    /// Returns the class version that InfiniBand uses: 2 for subnet administration, else 1.
    pub fn version(self) -> u8 {
        if self == Self::SUBNET_ADMINISTRATION { 2 } else { 1 }
    }
}

/// Method of a MAD, without the response bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Method(pub u8);

impl Method {
    /// Request for an attribute.
    pub const GET: Self = Self(0x01);
    /// Request to change an attribute.
    pub const SET: Self = Self(0x02);
    /// Message without a response.
    pub const SEND: Self = Self(0x03);
    /// Request for a table of records (subnet administration).
    pub const GET_TABLE: Self = Self(0x12);
    /// Bit that marks a response.
    const RESPONSE: u8 = 0x80;
}

/// Status of a response. In directed routes the top bit is the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u16);

impl Status {
    /// True if the request succeeded.
    pub fn is_ok(self) -> bool {
        self.0 << 1 == 0
    }

    /// Returns the cause in the terms of the specification; a number for an unknown code.
    pub fn text(self) -> String {
        let class = self.0 >> 8 & 0x7f;
        let words = match self.0 >> 2 & 0x7 {
            0 if self.0 & 1 == 1 => "busy",
            0 if self.0 & 2 == 2 => "redirected",
            0 => "",
            1 => "unsupported version",
            2 => "unsupported method",
            3 => "unsupported attribute",
            7 => "invalid value",
            _ => "unknown status",
        };
        match (words, class) {
            ("", 0) => "ok".into(),
            ("", class) => format!("class status {class}"),
            ("unknown status", _) => format!("status {:#06x}", self.0),
            (words, _) => words.into(),
        }
    }
}

/// The common header of a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Management class.
    pub class: Class,
    /// Version of the class.
    pub class_version: u8,
    /// Method without the response bit.
    pub method: Method,
    /// True for a response.
    pub is_response: bool,
    /// Status of a response.
    pub status: Status,
    /// Bytes 6 and 7. In directed routes they are hop pointer and hop count.
    pub class_specific: u16,
    /// Transaction ID. The sender chooses only the low 32 bits; the kernel replaces the others.
    pub transaction: u64,
    /// Attribute ID.
    pub attribute: u16,
    /// Attribute modifier, for example a port number.
    pub modifier: u32,
}

/// Reason why bytes are not an InfiniBand MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The bytes are fewer than a MAD has.
    #[error("a MAD has {MAD_BYTES} bytes, and {0} arrived")]
    Short(usize),
    /// The bytes are fewer than the header has.
    #[error("the header of a MAD has 24 bytes, and {0} arrived")]
    ShortHeader(usize),
    /// The base version is not 1; 0x80 is Omni-Path.
    #[error("a MAD of base version {0:#04x}, and 0x01 is InfiniBand")]
    BaseVersion(u8),
}

impl Header {
    const BYTES: usize = 24;
    /// Base version of InfiniBand MADs.
    const BASE_VERSION: u8 = 1;

    /// Returns the header of a request.
    pub fn request(class: Class, method: Method, attribute: u16, modifier: u32) -> Self {
        Self {
            class,
            class_version: class.version(),
            method,
            is_response: false,
            status: Status::default(),
            class_specific: 0,
            transaction: 0,
            attribute,
            modifier,
        }
    }

    /// Decodes the header of a whole MAD.
    ///
    /// # Errors
    /// `mad` is shorter than a MAD, or the base version is not that of InfiniBand.
    pub fn decode(mad: &[u8]) -> Result<Self, HeaderError> {
        if mad.len() < MAD_BYTES {
            return Err(HeaderError::Short(mad.len()));
        }
        Self::decode_start(mad)
    }

    /// Decodes the header from bytes that can be shorter than a MAD, for example a joined table
    /// without padding, or a request that the kernel returns after its timeout.
    ///
    /// # Errors
    /// `answer` is shorter than the header, or the base version is not that of InfiniBand.
    pub fn decode_start(answer: &[u8]) -> Result<Self, HeaderError> {
        let Some(mad) = answer.first_chunk::<{ Self::BYTES }>() else {
            return Err(HeaderError::ShortHeader(answer.len()));
        };
        if mad[0] != Self::BASE_VERSION {
            return Err(HeaderError::BaseVersion(mad[0]));
        }
        let half = |at: usize| u16::from_be_bytes([mad[at], mad[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([mad[at], mad[at + 1], mad[at + 2], mad[at + 3]]);
        Ok(Self {
            class: Class(mad[1]),
            class_version: mad[2],
            method: Method(mad[3] & !Method::RESPONSE),
            is_response: mad[3] & Method::RESPONSE != 0,
            status: Status(half(4)),
            class_specific: half(6),
            transaction: u64::from(word(8)) << 32 | u64::from(word(12)),
            attribute: half(16),
            modifier: word(20),
        })
    }

    /// Writes the header to the start of a MAD.
    pub fn encode(&self, mad: &mut [u8; MAD_BYTES]) {
        let response = if self.is_response { Method::RESPONSE } else { 0 };
        mad[0] = Self::BASE_VERSION;
        mad[1] = self.class.0;
        mad[2] = self.class_version;
        mad[3] = self.method.0 & !Method::RESPONSE | response;
        mad[4..6].copy_from_slice(&self.status.0.to_be_bytes());
        mad[6..8].copy_from_slice(&self.class_specific.to_be_bytes());
        mad[8..16].copy_from_slice(&self.transaction.to_be_bytes());
        mad[16..18].copy_from_slice(&self.attribute.to_be_bytes());
        mad[18..20].fill(0);
        mad[20..24].copy_from_slice(&self.modifier.to_be_bytes());
    }

    /// Returns a MAD with this header, in which all other bytes are 0.
    pub fn to_mad(self) -> [u8; MAD_BYTES] {
        let mut mad = [0; MAD_BYTES];
        self.encode(&mut mad);
        mad
    }

    /// Returns the part of the transaction ID that the sender chose.
    pub fn low_transaction(&self) -> u32 {
        u32::try_from(self.transaction & 0xffff_ffff).unwrap_or(0)
    }

    /// True if this header is the response to the request, by the low 32 transaction bits.
    pub fn answers(&self, request: &Self) -> bool {
        let is_same = self.low_transaction() == request.low_transaction();
        self.is_response && is_same && self.class == request.class
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 24)) {
            let mut mad = [0; MAD_BYTES];
            mad[..24].copy_from_slice(&bytes);
            (mad[0], mad[18], mad[19]) = (1, 0, 0);
            let header = Header::decode(&mad).unwrap();
            prop_assert_eq!(&header.to_mad()[..24], &mad[..24]);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Header::decode(&bytes);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Header::decode(&[1; 255]), Err(HeaderError::Short(255)));
        assert_eq!(Header::decode(&[0x80; MAD_BYTES]), Err(HeaderError::BaseVersion(0x80)));
    }

    #[test]
    fn an_answer_may_be_shorter_than_a_mad() {
        let mut answer = [0; 72];
        answer[..4].copy_from_slice(&[1, 3, 2, 0x92]);
        assert_eq!(Header::decode(&answer), Err(HeaderError::Short(72)));
        let header = Header::decode_start(&answer).unwrap();
        assert_eq!((header.class, header.method), (Class::SUBNET_ADMINISTRATION, Method(0x12)));
        let short = Header::decode_start(&answer[..23]).unwrap_err();
        assert_eq!(short.to_string(), "the header of a MAD has 24 bytes, and 23 arrived");
        answer[0] = 0x80;
        assert_eq!(Header::decode_start(&answer), Err(HeaderError::BaseVersion(0x80)));
    }

    #[test]
    fn a_response_belongs_to_the_request_with_its_low_bits() {
        let request =
            Header { transaction: 0x7, ..Header::request(Class::SUBNET_LID, Method::GET, 0x11, 0) };
        let response = Header { transaction: 0xabcd_0000_0000_0007, is_response: true, ..request };
        assert!(response.answers(&request));
        assert!(!Header { transaction: 8, ..response }.answers(&request));
        assert!(!request.answers(&request));
        assert!(!Header { class: Class::PERFORMANCE, ..response }.answers(&request));
    }

    #[test]
    fn a_status_has_words() {
        let text = |status| Status(status).text();
        assert_eq!(text(0), "ok");
        assert_eq!(text(0x8000), "ok", "the direction of a directed route is no status");
        assert!(Status(0x8000).is_ok() && !Status(0x000c).is_ok());
        assert_eq!(text(0x000c), "unsupported attribute");
        assert_eq!(text(0x001c), "invalid value");
        assert_eq!(text(0x0300), "class status 3");
        assert_eq!(text(0x0014), "status 0x0014");
    }
}
