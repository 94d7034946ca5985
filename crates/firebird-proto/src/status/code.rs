//! Numbers of errors: which have names here, which kind they are, what they say. Knows no vector.
//! Rule: the words are ours and say what happened; what has no row is written as its number and its arguments. Numbers and SQLSTATEs are the server's.

use std::fmt;

use super::SqlState;

/// Each says of one kind of change of the schema that it failed; why, the next codes say.
const DDL_FAILED: std::ops::RangeInclusive<u32> = 336_397_258..=336_397_340;

/// The number of an error: `0x14000000`, the part of the server it comes from in bits 16 to 23, its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GdsCode(pub u32);

impl GdsCode {
    /// A calculation, a conversion or a text did not fit; what exactly, the next code says.
    pub const ARITHMETIC: Self = Self(335_544_321);
    /// A text cannot become a value of another type.
    pub const CONVERSION: Self = Self(335_544_334);
    /// Two transactions wait for each other, or a row has been changed by another transaction.
    pub const DEADLOCK: Self = Self(335_544_336);
    /// The file of a database cannot be opened.
    pub const IO: Self = Self(335_544_344);
    /// A lock is taken and the transaction does not wait.
    pub const LOCK_CONFLICT: Self = Self(335_544_345);
    /// NULL, or a value that its column's check refuses.
    pub const NOT_VALID: Self = Self(335_544_347);
    /// A unique index holds the value already.
    pub const NO_DUPLICATE: Self = Self(335_544_349);
    /// A change of the schema failed; why, the next codes say.
    pub const NO_METADATA_UPDATE: Self = Self(335_544_351);
    /// The user may not do that.
    pub const NO_PRIVILEGE: Self = Self(335_544_352);
    /// The transaction only reads.
    pub const READ_ONLY_TRANSACTION: Self = Self(335_544_361);
    /// Only its argument says something.
    pub const RANDOM: Self = Self(335_544_382);
    /// The old number of the error, which its argument is.
    pub const SQL_CODE: Self = Self(335_544_436);
    /// Another transaction changed the row.
    pub const UPDATE_CONFLICT: Self = Self(335_544_451);
    /// Something uses the table, index or other object that is to be changed.
    pub const OBJECT_IN_USE: Self = Self(335_544_453);
    /// A row is missing that a foreign key names, or still named by one.
    pub const FOREIGN_KEY: Self = Self(335_544_466);
    /// The name or the password is wrong.
    pub const LOGIN: Self = Self(335_544_472);
    /// The time to wait for a lock is over.
    pub const LOCK_TIMEOUT: Self = Self(335_544_510);
    /// An exception of the schema was raised.
    pub const EXCEPTION: Self = Self(335_544_517);
    /// A check constraint refused the row.
    pub const CHECK: Self = Self(335_544_558);
    /// A character does not exist in the character set it has to become one of.
    pub const TRANSLITERATION: Self = Self(335_544_565);
    /// Something is wrong with an SQL text; what exactly, the next codes say.
    pub const DYNAMIC_SQL: Self = Self(335_544_569);
    /// A command cannot be carried out; why, the next codes say.
    pub const BAD_COMMAND: Self = Self(335_544_570);
    /// An expression has no value; why, the next code says.
    pub const EXPRESSION: Self = Self(335_544_606);
    /// No such table or view.
    pub const TABLE_UNKNOWN: Self = Self(335_544_580);
    /// The grammar has no such word there.
    pub const TOKEN_UNKNOWN: Self = Self(335_544_634);
    /// A unique or primary key holds the value already.
    pub const UNIQUE: Self = Self(335_544_665);
    /// The statement was cancelled.
    pub const CANCELLED: Self = Self(335_544_794);
    /// The exception raised, its name and its text.
    pub const EXCEPTION_NAMED: Self = Self(335_544_848);
    /// The server has ended the attachment, such as at its shutdown.
    pub const ATTACHMENT_SHUTDOWN: Self = Self(335_544_856);
    /// Which transaction is in the way.
    pub const CONCURRENT_TRANSACTION: Self = Self(335_544_878);
    /// A text is longer than its place.
    pub const TRUNCATION: Self = Self(335_544_914);
    /// A number is greater than its place.
    pub const NUMERIC_RANGE: Self = Self(335_544_916);
    /// The text of an exception of the schema.
    pub const EXCEPTION_TEXT: Self = Self(335_545_016);
    /// Where in the SQL text.
    pub const AT_LINE: Self = Self(336_397_208);

    /// Its kind in the words of the SQL standard, if it has a row here.
    pub fn sqlstate(self) -> Option<SqlState> {
        self.row().and_then(|row| SqlState::new(row.1.as_bytes()))
    }

    /// What it says, with `{1}` to `{5}` for its arguments, if it has a row here.
    pub(super) fn words(self) -> Option<&'static str> {
        self.row().map(|row| row.2)
    }

    /// Whether it only says where to look, and a later code of the same error says what happened.
    pub(super) fn is_wrapper(self) -> bool {
        matches!(
            self,
            Self::DYNAMIC_SQL
                | Self::SQL_CODE
                | Self::ARITHMETIC
                | Self::NO_METADATA_UPDATE
                | Self::BAD_COMMAND
                | Self::EXPRESSION
        ) || DDL_FAILED.contains(&self.0)
    }

    fn row(self) -> Option<&'static Row> {
        let at = ROWS.binary_search_by_key(&self.0, |row| row.0).ok()?;
        ROWS.get(at)
    }
}

impl fmt::Display for GdsCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for GdsCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

type Row = (u32, &'static str, &'static str);

/// What users meet, in order of the numbers.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (335_544_321, "22000", "a calculation, conversion or text does not fit"),
    (335_544_323, "HY000", "{1} is not a database"),
    (335_544_324, "08003", "the attachment does not exist (any more)"),
    (335_544_328, "42000", "the blob's handle is not valid"),
    (335_544_329, "42000", "there is no blob of this id"),
    (335_544_332, "08003", "the transaction does not exist (any more)"),
    (335_544_333, "XX000", "the server found itself inconsistent: {1}"),
    (335_544_334, "22018", "{1} cannot be converted"),
    (335_544_335, "XX001", "the database is damaged: {1}"),
    (335_544_336, "40001", "deadlock or conflict with another transaction"),
    (335_544_342, "27000", "trigger {1} does not allow it"),
    (335_544_344, "08001", "{1} failed for the file {2}"),
    (335_544_345, "40001", "a lock is taken and the transaction does not wait"),
    (335_544_347, "23000", "column {1} does not take the value {2}"),
    (335_544_349, "23000", "the unique index {1} holds the value already"),
    (335_544_351, "42000", "the schema was not changed"),
    (335_544_352, "28000", "no privilege for {1} on {2} {3}"),
    (335_544_357, "01002", "{1} transactions are still open"),
    (335_544_359, "42000", "the column is read-only"),
    (335_544_360, "42000", "the table is read-only"),
    (335_544_361, "42000", "the transaction is read-only"),
    (335_544_362, "42000", "the view {1} is read-only"),
    (335_544_364, "HY000", "the cursor has no more rows or is not open"),
    (335_544_374, "HY109", "the cursor is at its end"),
    (335_544_375, "08001", "the database is not available"),
    (335_544_378, "0A000", "the server does not support that"),
    (335_544_379, "HY000", "the file {1} has the on-disk structure {2}.{3}, this server reads {4}.{5}"),
    (335_544_380, "07002", "the number of arguments is wrong"),
    (335_544_381, "54000", "a limit of the server is exceeded"),
    (335_544_382, "HY000", "{1}"),
    (335_544_395, "42S02", "table {1} does not exist"),
    (335_544_396, "42S22", "column {1} of table {2} does not exist"),
    (335_544_421, "08004", "the server refuses the connection"),
    (335_544_434, "42000", "the key of index {1} is too long"),
    (335_544_436, "HY000", "SQLCODE {1}"),
    (335_544_438, "39000", "function {1} does not exist"),
    (335_544_451, "40001", "another transaction changed the row"),
    (335_544_453, "42000", "{1} is in use"),
    (335_544_463, "42000", "sequence {1} does not exist"),
    (335_544_466, "23000", "foreign key {1} of table {2} is violated"),
    (335_544_468, "HY000", "transaction {1} is {2}"),
    (335_544_472, "28000", "the user name or the password is wrong"),
    (335_544_475, "40001", "the lock on table {1} is taken"),
    (335_544_476, "40001", "the lock on the row is taken"),
    (335_544_485, "26000", "the statement does not exist (any more)"),
    (335_544_506, "HY000", "the database {1} is being shut down"),
    (335_544_509, "2C000", "character set {1} does not exist"),
    (335_544_510, "40001", "the time to wait for a lock is over"),
    (335_544_511, "42000", "procedure {1} does not exist"),
    (335_544_512, "07001", "the parameters of procedure {1} do not match"),
    (335_544_516, "HY000", "exception {1} does not exist"),
    (335_544_517, "HY000", "exception"),
    (335_544_528, "HY000", "the database {1} is shut down"),
    (335_544_530, "42000", "a foreign key names its primary key"),
    (335_544_558, "23000", "check constraint {1} of {2} is violated"),
    (335_544_560, "HY000", "the database {1} is shut down in {2} seconds"),
    (335_544_565, "22018", "a character does not exist in the other character set"),
    (335_544_569, "42000", "the SQL text is not sound"),
    (335_544_570, "42000", "this command does not exist"),
    (335_544_573, "HY004", "the type is not known"),
    (335_544_578, "42S22", "unknown column"),
    (335_544_580, "42S02", "unknown table"),
    (335_544_581, "42000", "unknown procedure"),
    (335_544_583, "07002", "the parameters or columns do not match the statement"),
    (335_544_584, "21S01", "the number of columns is not that of the values"),
    (335_544_586, "39000", "unknown function"),
    (335_544_588, "22021", "collation {1} of character set {2} does not exist"),
    (335_544_606, "42000", "the expression cannot be evaluated"),
    (335_544_608, "42000", "the SQL ends too early"),
    (335_544_609, "42000", "index {1}"),
    (335_544_610, "22000", "exception {1}"),
    (335_544_611, "42000", "column {1}"),
    (335_544_626, "HY000", "table {1}"),
    (335_544_627, "42000", "procedure {1}"),
    (335_544_630, "42000", "{1} objects depend on it"),
    (335_544_634, "42000", "unexpected word at line {1}, column {2}"),
    (335_544_635, "42S02", "no table or alias {1} here"),
    (335_544_646, "HY000", "the database or file exists already"),
    (335_544_652, "21000", "more than one row where one is needed"),
    (335_544_657, "HY000", "arrays and blobs take no part in calculations"),
    (335_544_665, "23000", "unique or primary key {1} of table {2} is violated"),
    (335_544_668, "42000", "procedure {1} returns nothing"),
    (335_544_672, "42000", "index {1} names a column that does not exist"),
    (335_544_683, "54001", "calls are nested too deeply"),
    (335_544_697, "HY104", "the precision must be 1 to 18"),
    (335_544_699, "22003", "a small integer is needed"),
    (335_544_700, "22003", "an integer is needed"),
    (335_544_701, "22003", "an unsigned small integer is needed"),
    (335_544_702, "22025", "the escape of LIKE is not sound"),
    (335_544_704, "08006", "the server's machine was not found"),
    (335_544_708, "42702", "the column is ambiguous"),
    (335_544_711, "HY007", "the statement was not prepared"),
    (335_544_721, "08006", "the network failed towards {1}"),
    (335_544_722, "08006", "the connection was not established"),
    (335_544_726, "08006", "reading from the connection failed"),
    (335_544_727, "08006", "writing to the connection failed"),
    (335_544_733, "08001", "creating the file failed"),
    (335_544_734, "08001", "opening the file failed"),
    (335_544_741, "08006", "the connection to the database is lost"),
    (335_544_744, "08001", "the server has too many connections"),
    (335_544_759, "42000", "a column that is not null has NULL as default"),
    (335_544_760, "42000", "the clause {1} is not sound"),
    (335_544_761, "HY000", "too many handles are open"),
    (335_544_765, "42000", "the database is read-only"),
    (335_544_772, "22012", "division by zero"),
    (335_544_774, "22000", "a floating-point calculation has no result"),
    (335_544_775, "22003", "a floating-point number is too big"),
    (335_544_777, "22003", "a floating-point number is too small"),
    (335_544_778, "22012", "division by zero"),
    (335_544_779, "22003", "an integer is too big"),
    (335_544_788, "28000", "only the owner or SYSDBA may do that"),
    (335_544_791, "HY000", "the file {1} is in use by another process"),
    (335_544_794, "HY008", "the operation was cancelled"),
    (335_544_801, "22008", "a value of this type takes no part in calculations"),
    (335_544_810, "22008", "the date is out of range"),
    (335_544_817, "HY000", "the number of rows to fetch must not be negative"),
    (335_544_818, "42000", "the number of rows to skip must not be negative"),
    (335_544_834, "24000", "the cursor is not open"),
    (335_544_836, "HY000", "a text put together from others is too long"),
    (335_544_837, "22011", "the offset of SUBSTRING must be positive"),
    (335_544_838, "42000", "the row it names does not exist"),
    (335_544_839, "42000", "other rows name it"),
    (335_544_841, "24000", "the cursor is open already"),
    (335_544_842, "HY000", "{1}"),
    (335_544_848, "HY000", "exception {1}"),
    (335_544_849, "22000", "bytes are no text of their character set"),
    (335_544_851, "42000", "the SQL ends too early at line {1}, column {2}"),
    (335_544_853, "22011", "the length of SUBSTRING must not be negative"),
    (335_544_854, "2C000", "character set {1} is not installed"),
    (335_544_856, "08003", "the server has ended the connection"),
    (335_544_857, "54000", "the blob is too long"),
    (335_544_860, "HY000", "a value cannot become a blob of this type"),
    (335_544_861, "22000", "a value cannot become an array"),
    (335_544_868, "42000", "procedure {1} has no SUSPEND, so nothing can be selected from it"),
    (335_544_872, "42000", "domain {1} does not exist"),
    (335_544_878, "HY000", "by transaction {1}"),
    (335_544_879, "42000", "variable {1} does not take the value {2}"),
    (335_544_880, "42000", "{1} does not take the value {2}"),
    (335_544_884, "42000", "the pattern of SIMILAR TO is not sound"),
    (335_544_912, "22008", "the time is out of range"),
    (335_544_913, "22008", "the timestamp is out of range"),
    (335_544_914, "22001", "the text is too long"),
    (335_544_915, "22001", "the blob is too long for a text"),
    (335_544_916, "22003", "the number is out of range"),
    (335_544_927, "42000", "the parameters do not match"),
    (335_544_945, "42000", "an argument of {1} must be a whole number"),
    (335_544_946, "42000", "the first argument of {1} must be a number"),
    (335_544_948, "42000", "a UUID in text must have {1} characters"),
    (335_544_949, "42000", "a UUID in text must have a hyphen where there is none"),
    (335_544_950, "42000", "a UUID in text must have a hexadecimal digit where there is none"),
    (335_544_960, "42000", "the argument of {1} must be positive"),
    (335_544_961, "42000", "the base of {1} must be positive"),
    (335_544_962, "42000", "argument {1} of {2} must not be negative"),
    (335_544_963, "42000", "argument {1} of {2} must be positive"),
    (335_544_964, "42000", "the base of {1} must not be zero if the exponent is negative"),
    (335_544_965, "42000", "the base of {1} must not be negative if the exponent is not whole"),
    (335_544_966, "42000", "the scale in {1} must be between -128 and 127"),
    (335_544_967, "42000", "the argument of {1} must not be negative"),
    (335_544_969, "42000", "a binary UUID must have {1} bytes"),
    (335_544_976, "42000", "the argument of {1} must not be zero"),
    (335_544_977, "42000", "the argument of {1} must be between -1 and 1"),
    (335_544_978, "42000", "the argument of {1} must be at least 1"),
    (335_544_979, "42000", "the argument of {1} must be between -1 and 1, both excluded"),
    (335_544_981, "42000", "a floating-point number is too big in {1}"),
    (335_545_011, "2200G", "the type {1} does not go with a blob"),
    (335_545_012, "22003", "the date is none"),
    (335_545_013, "22003", "the time is none"),
    (335_545_014, "22003", "the timestamp is none"),
    (335_545_016, "HY000", "{1}"),
    (335_545_024, "42000", "the arguments of {1} must not both be zero"),
    (335_545_028, "42000", "the subscript {1} is not between {2} and {3}"),
    (335_545_030, "42000", "{1} of the system table {2} is not allowed"),
    (335_545_033, "HY000", "at most {1}, actual {2}"),
    (335_545_045, "42818", "a block of parameters is missing"),
    (335_545_050, "07000", "the message does not match the columns"),
    (335_545_062, "28000", "the connection and the attachment name different users"),
    (335_545_063, "28000", "the authentication takes too many rounds"),
    (335_545_064, "28000", "the server and the client do not agree on encryption"),
    (335_545_065, "28000", "the server requires encryption"),
    (335_545_066, "28000", "the server does not know the key {1}"),
    (335_545_067, "28000", "the server does not know the cipher {1}"),
    (335_545_071, "HY007", "the statement was never prepared"),
    (335_545_072, "HY007", "the value is {1}"),
    (335_545_077, "08004", "the server is not set up right; ask who runs it"),
    (335_545_091, "0P000", "role {1} does not exist or may not be taken"),
    (335_545_096, "40001", "another transaction has changed what was to be read"),
    (335_545_101, "07001", "the parameters of function {1} do not match"),
    (335_545_104, "2C000", "character set {1} cannot be that of a connection"),
    (335_545_106, "08006", "the login failed; the server's log says why (no common authentication plugin, for one)"),
    (335_545_139, "22012", "division by zero"),
    (335_545_141, "22000", "a calculation with DECFLOAT has no result"),
    (335_545_142, "22003", "a DECFLOAT is too big"),
    (335_545_143, "22003", "a DECFLOAT is too small"),
    (335_545_213, "22009", "the offset of the time zone is out of range"),
    (335_545_214, "22009", "there is no such time zone"),
    (335_545_215, "22009", "there is no such time zone"),
    (335_545_216, "22023", "the text is no base64: its length is not a multiple of 4"),
    (335_545_257, "22023", "the text is no hexadecimal number: its length is odd"),
    (335_545_258, "22023", "the text is no hexadecimal number: it has another character"),
    (335_545_261, "22000", "a value cannot be converted"),
    (335_545_276, "22023", "parameter {1} must not be empty or NULL"),
    (336_068_740, "42S01", "table {1} exists already"),
    (336_068_743, "HY000", "procedure {1} exists already"),
    (336_068_783, "HY000", "table or view {1} does not exist"),
    (336_068_784, "42S22", "column {1} of {2} does not exist"),
    (336_068_796, "28000", "role {1} does not exist"),
    (336_068_859, "42S11", "index {1} exists already"),
    (336_068_861, "HY000", "exception {1} exists already"),
    (336_068_862, "HY000", "sequence {1} exists already"),
    (336_397_206, "42S02", "table {1} does not exist"),
    (336_397_207, "42S02", "view {1} does not exist"),
    (336_397_208, "42000", "at line {1}, column {2}"),
    (336_397_210, "HY000", "column {1} is given twice in {2}"),
    (336_397_211, "07002", "a list has more than {1} values"),
    (336_397_243, "42000", "texts take no part in + and - with dates and times"),
    (336_397_244, "42000", "a value of this type cannot be subtracted from, or be reduced by, a date or a time"),
    (336_397_245, "42000", "two dates or two times cannot be added"),
    (336_397_246, "42000", "a date cannot be subtracted from a value of this type"),
    (336_397_247, "42000", "texts take no part in + and -"),
    (336_397_248, "42000", "a value of this type takes no part in + and -"),
    (336_397_250, "42000", "texts take no part in *"),
    (336_397_251, "42000", "a value of this type takes no part in *"),
    (336_397_253, "42000", "texts take no part in /"),
    (336_397_254, "42000", "a value of this type takes no part in /"),
    (336_397_255, "42000", "a text has no negative"),
    (336_397_256, "42000", "a value of this type has no negative"),
];
