//! Character sets by the server's numbers, and the texts of most. A connection in UTF8 needs the texts of none but itself: the server
//! converts. The numbers are those of `rdb$character_sets`. Rule: what cannot be converted without loss is not converted.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::Encoding;

/// A character set of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CharacterSet(&'static Row);

#[derive(PartialEq, Eq)]
struct Row {
    id: u8,
    name: &'static str,
    bytes_per_character: u8,
    text: Text,
}

/// How its texts become UTF-8.
#[derive(PartialEq, Eq)]
enum Text {
    /// It says nothing about characters.
    Unknown,
    /// They are no texts.
    Octets,
    Utf8,
    Ascii,
    /// The first 256 characters.
    Latin1,
    /// Those but six.
    Latin5,
    Encoding(&'static Encoding),
    /// Not by us. The server does, on a connection in UTF8.
    Server,
}

const fn row(id: u8, name: &'static str, bytes_per_character: u8, text: Text) -> Row {
    Row {
        id,
        name,
        bytes_per_character,
        text,
    }
}

const fn encoding(id: u8, name: &'static str, bytes: u8, encoding: &'static Encoding) -> Row {
    row(id, name, bytes, Text::Encoding(encoding))
}

/// In order of the numbers.
static ROWS: &[Row] = &[
    row(0, "NONE", 1, Text::Unknown),
    row(1, "OCTETS", 1, Text::Octets),
    row(2, "ASCII", 1, Text::Ascii),
    row(3, "UNICODE_FSS", 3, Text::Utf8),
    row(4, "UTF8", 4, Text::Utf8),
    encoding(5, "SJIS_0208", 2, encoding_rs::SHIFT_JIS),
    encoding(6, "EUCJ_0208", 2, encoding_rs::EUC_JP),
    row(9, "DOS737", 1, Text::Server),
    row(10, "DOS437", 1, Text::Server),
    row(11, "DOS850", 1, Text::Server),
    row(12, "DOS865", 1, Text::Server),
    row(13, "DOS860", 1, Text::Server),
    row(14, "DOS863", 1, Text::Server),
    row(15, "DOS775", 1, Text::Server),
    row(16, "DOS858", 1, Text::Server),
    row(17, "DOS862", 1, Text::Server),
    row(18, "DOS864", 1, Text::Server),
    row(19, "NEXT", 1, Text::Server),
    row(21, "ISO8859_1", 1, Text::Latin1),
    encoding(22, "ISO8859_2", 1, encoding_rs::ISO_8859_2),
    encoding(23, "ISO8859_3", 1, encoding_rs::ISO_8859_3),
    encoding(34, "ISO8859_4", 1, encoding_rs::ISO_8859_4),
    encoding(35, "ISO8859_5", 1, encoding_rs::ISO_8859_5),
    encoding(36, "ISO8859_6", 1, encoding_rs::ISO_8859_6),
    encoding(37, "ISO8859_7", 1, encoding_rs::ISO_8859_7),
    encoding(38, "ISO8859_8", 1, encoding_rs::ISO_8859_8),
    row(39, "ISO8859_9", 1, Text::Latin5),
    encoding(40, "ISO8859_13", 1, encoding_rs::ISO_8859_13),
    encoding(44, "KSC_5601", 2, encoding_rs::EUC_KR),
    row(45, "DOS852", 1, Text::Server),
    row(46, "DOS857", 1, Text::Server),
    row(47, "DOS861", 1, Text::Server),
    encoding(48, "DOS866", 1, encoding_rs::IBM866),
    row(49, "DOS869", 1, Text::Server),
    row(50, "CYRL", 1, Text::Server),
    encoding(51, "WIN1250", 1, encoding_rs::WINDOWS_1250),
    encoding(52, "WIN1251", 1, encoding_rs::WINDOWS_1251),
    encoding(53, "WIN1252", 1, encoding_rs::WINDOWS_1252),
    encoding(54, "WIN1253", 1, encoding_rs::WINDOWS_1253),
    encoding(55, "WIN1254", 1, encoding_rs::WINDOWS_1254),
    encoding(56, "BIG_5", 2, encoding_rs::BIG5),
    encoding(57, "GB_2312", 2, encoding_rs::GBK),
    encoding(58, "WIN1255", 1, encoding_rs::WINDOWS_1255),
    encoding(59, "WIN1256", 1, encoding_rs::WINDOWS_1256),
    encoding(60, "WIN1257", 1, encoding_rs::WINDOWS_1257),
    encoding(63, "KOI8R", 1, encoding_rs::KOI8_R),
    encoding(64, "KOI8U", 1, encoding_rs::KOI8_U),
    encoding(65, "WIN1258", 1, encoding_rs::WINDOWS_1258),
    encoding(66, "TIS620", 1, encoding_rs::WINDOWS_874),
    encoding(67, "GBK", 2, encoding_rs::GBK),
    encoding(68, "CP943C", 2, encoding_rs::SHIFT_JIS),
    encoding(69, "GB18030", 4, encoding_rs::GB18030),
];

/// Where ISO 8859-9 differs from ISO 8859-1.
const LATIN5: [(u8, char); 6] = [
    (0xd0, 'Ğ'),
    (0xdd, 'İ'),
    (0xde, 'Ş'),
    (0xf0, 'ğ'),
    (0xfd, 'ı'),
    (0xfe, 'ş'),
];

impl CharacterSet {
    /// Says nothing about characters.
    pub const NONE: Self = Self(&row(0, "NONE", 1, Text::Unknown));
    /// Bytes.
    pub const OCTETS: Self = Self(&row(1, "OCTETS", 1, Text::Octets));
    /// What a connection should speak.
    pub const UTF8: Self = Self(&row(4, "UTF8", 4, Text::Utf8));

    /// The one with this number.
    pub fn by_id(id: u8) -> Option<Self> {
        let at = ROWS.binary_search_by_key(&id, |row| row.id).ok()?;
        ROWS.get(at).map(Self)
    }

    /// The one with this name, in whatever case.
    pub fn by_name(name: &str) -> Option<Self> {
        let mut rows = ROWS.iter();
        rows.find(|row| row.name.eq_ignore_ascii_case(name))
            .map(Self)
    }

    /// The server's number of the character set.
    pub fn id(self) -> u8 {
        self.0.id
    }

    /// The name that the server knows the character set by.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The most bytes that one character takes.
    pub fn bytes_per_character(self) -> u8 {
        self.0.bytes_per_character
    }

    /// Whether there are texts in it at all.
    pub fn has_text(self) -> bool {
        !matches!(self.0.text, Text::Octets)
    }

    /// The text that `bytes` are; `None` if they are none, or one that is not known here. Of NONE, what is UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        let utf8 = || std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        match self.0.text {
            Text::Octets => None,
            Text::Unknown | Text::Utf8 => utf8(),
            // Every set here has ASCII where ASCII has it, but for a backslash and a tilde of old that decoders pass over.
            _ if bytes.is_ascii() => utf8(),
            Text::Ascii | Text::Server => None,
            Text::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
            Text::Latin5 => Some(bytes.iter().map(|byte| latin5(*byte)).collect()),
            Text::Encoding(encoding) => {
                encoding.decode_without_bom_handling_and_without_replacement(bytes)
            }
        }
    }

    /// The bytes of `text` in it; `None` if it lacks one of its characters, or is not known here. Of NONE, its UTF-8.
    pub fn encode(self, text: &str) -> Option<Cow<'_, [u8]>> {
        let same = || Some(Cow::Borrowed(text.as_bytes()));
        match self.0.text {
            Text::Octets | Text::Unknown | Text::Utf8 => same(),
            _ if text.is_ascii() => same(),
            Text::Ascii | Text::Server => None,
            Text::Latin1 => text.chars().map(|c| u8::try_from(c).ok()).collect(),
            Text::Latin5 => text.chars().map(to_latin5).collect(),
            Text::Encoding(encoding) => match encoding.encode(text) {
                (bytes, _, false) => Some(bytes),
                (_, _, true) => None,
            },
        }
    }
}

fn latin5(byte: u8) -> char {
    let differs = LATIN5.iter().find(|(at, _)| *at == byte);
    differs.map_or(char::from(byte), |(_, character)| *character)
}

fn to_latin5(character: char) -> Option<u8> {
    match LATIN5.iter().find(|(_, known)| *known == character) {
        Some((byte, _)) => Some(*byte),
        None => u8::try_from(character)
            .ok()
            .filter(|byte| LATIN5.iter().all(|(at, _)| at != byte)),
    }
}

impl fmt::Debug for CharacterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
