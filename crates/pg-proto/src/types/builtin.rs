//! The server's built-in types as constants of [`Type`]. Not the pseudo-types that only functions have, nor the system's row types.
//! Rule: a row is a row of `pg_type`; a test compares the table with a recorded list of the server's own.

use std::borrow::Cow;

use super::Oid;
use super::kind::{Kind, Shape, Type, TypeRef};

/// `CONSTANT oid "name" kind => Shape, ARRAY_CONSTANT oid;` — the shape is left out where the kind says it or where the type is known as
/// text only, the array type where the server has none.
macro_rules! builtin {
    ($($constant:ident $oid:literal $name:literal $kind:expr $(=> $shape:ident)?, $($array:ident $array_oid:literal)?;)*) => {
        impl Type {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: &'static Self =
                    &Self { oid: $oid, name: Cow::Borrowed($name), kind: $kind };
                $(
                    #[doc = concat!("`", $name, "[]`")]
                    pub const $array: &'static Self = &Self {
                        oid: $array_oid,
                        name: Cow::Borrowed(concat!("_", $name)),
                        kind: Kind::Array(TypeRef::Builtin(Self::$constant)),
                    };
                )?
            )*

            /// The type of arrays of the built-in type with this number.
            pub fn array_of(element: Oid) -> Option<&'static Self> {
                match element {
                    $($($oid => Some(Self::$array),)?)*
                    _ => None,
                }
            }

            /// The built-in type with this number.
            pub fn from_oid(oid: Oid) -> Option<&'static Self> {
                match oid {
                    $(
                        $oid => Some(Self::$constant),
                        $($array_oid => Some(Self::$array),)?
                    )*
                    _ => None,
                }
            }

            /// The shape of the built-in type with this number, but for what its kind says.
            pub(super) fn builtin_shape(oid: Oid) -> Option<Shape<'static>> {
                match oid {
                    $($($oid => Some(Shape::$shape),)?)*
                    _ => None,
                }
            }
        }
    };
}

builtin! {
    BOOL 16 "bool" Kind::Simple => Bool, BOOL_ARRAY 1000;
    BYTEA 17 "bytea" Kind::Simple => Bytea, BYTEA_ARRAY 1001;
    CHAR 18 "char" Kind::Simple => Char, CHAR_ARRAY 1002;
    NAME 19 "name" Kind::Simple => Text, NAME_ARRAY 1003;
    INT8 20 "int8" Kind::Simple => Int8, INT8_ARRAY 1016;
    INT2 21 "int2" Kind::Simple => Int2, INT2_ARRAY 1005;
    INT2_VECTOR 22 "int2vector" Kind::Simple, INT2_VECTOR_ARRAY 1006;
    INT4 23 "int4" Kind::Simple => Int4, INT4_ARRAY 1007;
    REGPROC 24 "regproc" Kind::Simple, REGPROC_ARRAY 1008;
    TEXT 25 "text" Kind::Simple => Text, TEXT_ARRAY 1009;
    OID 26 "oid" Kind::Simple => Oid, OID_ARRAY 1028;
    TID 27 "tid" Kind::Simple => Tid, TID_ARRAY 1010;
    XID 28 "xid" Kind::Simple => Oid, XID_ARRAY 1011;
    CID 29 "cid" Kind::Simple => Oid, CID_ARRAY 1012;
    OID_VECTOR 30 "oidvector" Kind::Simple, OID_VECTOR_ARRAY 1013;
    JSON 114 "json" Kind::Simple => Json, JSON_ARRAY 199;
    XML 142 "xml" Kind::Simple, XML_ARRAY 143;
    POINT 600 "point" Kind::Simple => Point, POINT_ARRAY 1017;
    LSEG 601 "lseg" Kind::Simple => Lseg, LSEG_ARRAY 1018;
    PATH 602 "path" Kind::Simple => Path, PATH_ARRAY 1019;
    BOX 603 "box" Kind::Simple => Box, BOX_ARRAY 1020;
    POLYGON 604 "polygon" Kind::Simple => Polygon, POLYGON_ARRAY 1027;
    LINE 628 "line" Kind::Simple => Line, LINE_ARRAY 629;
    CIDR 650 "cidr" Kind::Simple => Inet, CIDR_ARRAY 651;
    FLOAT4 700 "float4" Kind::Simple => Float4, FLOAT4_ARRAY 1021;
    FLOAT8 701 "float8" Kind::Simple => Float8, FLOAT8_ARRAY 1022;
    UNKNOWN 705 "unknown" Kind::Pseudo => Text, ;
    CIRCLE 718 "circle" Kind::Simple => Circle, CIRCLE_ARRAY 719;
    MACADDR8 774 "macaddr8" Kind::Simple => MacAddr8, MACADDR8_ARRAY 775;
    MONEY 790 "money" Kind::Simple => Money, MONEY_ARRAY 791;
    MACADDR 829 "macaddr" Kind::Simple => MacAddr, MACADDR_ARRAY 1040;
    INET 869 "inet" Kind::Simple => Inet, INET_ARRAY 1041;
    ACLITEM 1033 "aclitem" Kind::Simple, ACLITEM_ARRAY 1034;
    BPCHAR 1042 "bpchar" Kind::Simple => Text, BPCHAR_ARRAY 1014;
    VARCHAR 1043 "varchar" Kind::Simple => Text, VARCHAR_ARRAY 1015;
    DATE 1082 "date" Kind::Simple => Date, DATE_ARRAY 1182;
    TIME 1083 "time" Kind::Simple => Time, TIME_ARRAY 1183;
    TIMESTAMP 1114 "timestamp" Kind::Simple => Timestamp, TIMESTAMP_ARRAY 1115;
    TIMESTAMPTZ 1184 "timestamptz" Kind::Simple => TimestampTz, TIMESTAMPTZ_ARRAY 1185;
    INTERVAL 1186 "interval" Kind::Simple => Interval, INTERVAL_ARRAY 1187;
    TIMETZ 1266 "timetz" Kind::Simple => TimeTz, TIMETZ_ARRAY 1270;
    BIT 1560 "bit" Kind::Simple => Bits, BIT_ARRAY 1561;
    VARBIT 1562 "varbit" Kind::Simple => Bits, VARBIT_ARRAY 1563;
    NUMERIC 1700 "numeric" Kind::Simple => Numeric, NUMERIC_ARRAY 1231;
    REFCURSOR 1790 "refcursor" Kind::Simple => Text, REFCURSOR_ARRAY 2201;
    REGPROCEDURE 2202 "regprocedure" Kind::Simple, REGPROCEDURE_ARRAY 2207;
    REGOPER 2203 "regoper" Kind::Simple, REGOPER_ARRAY 2208;
    REGOPERATOR 2204 "regoperator" Kind::Simple, REGOPERATOR_ARRAY 2209;
    REGCLASS 2205 "regclass" Kind::Simple, REGCLASS_ARRAY 2210;
    REGTYPE 2206 "regtype" Kind::Simple, REGTYPE_ARRAY 2211;
    RECORD 2249 "record" Kind::Pseudo => Record, RECORD_ARRAY 2287;
    CSTRING 2275 "cstring" Kind::Pseudo => Text, CSTRING_ARRAY 1263;
    VOID 2278 "void" Kind::Pseudo => Void, ;
    UUID 2950 "uuid" Kind::Simple => Uuid, UUID_ARRAY 2951;
    TXID_SNAPSHOT 2970 "txid_snapshot" Kind::Simple, TXID_SNAPSHOT_ARRAY 2949;
    PG_LSN 3220 "pg_lsn" Kind::Simple => Lsn, PG_LSN_ARRAY 3221;
    TSVECTOR 3614 "tsvector" Kind::Simple, TSVECTOR_ARRAY 3643;
    TSQUERY 3615 "tsquery" Kind::Simple, TSQUERY_ARRAY 3645;
    REGCONFIG 3734 "regconfig" Kind::Simple, REGCONFIG_ARRAY 3735;
    REGDICTIONARY 3769 "regdictionary" Kind::Simple, REGDICTIONARY_ARRAY 3770;
    JSONB 3802 "jsonb" Kind::Simple => Jsonb, JSONB_ARRAY 3807;
    INT4_RANGE 3904 "int4range" Kind::Range(TypeRef::Builtin(Type::INT4)), INT4_RANGE_ARRAY 3905;
    NUM_RANGE 3906 "numrange" Kind::Range(TypeRef::Builtin(Type::NUMERIC)), NUM_RANGE_ARRAY 3907;
    TS_RANGE 3908 "tsrange" Kind::Range(TypeRef::Builtin(Type::TIMESTAMP)), TS_RANGE_ARRAY 3909;
    TSTZ_RANGE 3910 "tstzrange" Kind::Range(TypeRef::Builtin(Type::TIMESTAMPTZ)), TSTZ_RANGE_ARRAY 3911;
    DATE_RANGE 3912 "daterange" Kind::Range(TypeRef::Builtin(Type::DATE)), DATE_RANGE_ARRAY 3913;
    INT8_RANGE 3926 "int8range" Kind::Range(TypeRef::Builtin(Type::INT8)), INT8_RANGE_ARRAY 3927;
    JSONPATH 4072 "jsonpath" Kind::Simple => Versioned, JSONPATH_ARRAY 4073;
    REGNAMESPACE 4089 "regnamespace" Kind::Simple, REGNAMESPACE_ARRAY 4090;
    REGROLE 4096 "regrole" Kind::Simple, REGROLE_ARRAY 4097;
    REGCOLLATION 4191 "regcollation" Kind::Simple, REGCOLLATION_ARRAY 4192;
    INT4_MULTIRANGE 4451 "int4multirange" Kind::Multirange(TypeRef::Builtin(Type::INT4_RANGE)), INT4_MULTIRANGE_ARRAY 6150;
    NUM_MULTIRANGE 4532 "nummultirange" Kind::Multirange(TypeRef::Builtin(Type::NUM_RANGE)), NUM_MULTIRANGE_ARRAY 6151;
    TS_MULTIRANGE 4533 "tsmultirange" Kind::Multirange(TypeRef::Builtin(Type::TS_RANGE)), TS_MULTIRANGE_ARRAY 6152;
    TSTZ_MULTIRANGE 4534 "tstzmultirange" Kind::Multirange(TypeRef::Builtin(Type::TSTZ_RANGE)), TSTZ_MULTIRANGE_ARRAY 6153;
    DATE_MULTIRANGE 4535 "datemultirange" Kind::Multirange(TypeRef::Builtin(Type::DATE_RANGE)), DATE_MULTIRANGE_ARRAY 6155;
    INT8_MULTIRANGE 4536 "int8multirange" Kind::Multirange(TypeRef::Builtin(Type::INT8_RANGE)), INT8_MULTIRANGE_ARRAY 6157;
    PG_SNAPSHOT 5038 "pg_snapshot" Kind::Simple, PG_SNAPSHOT_ARRAY 5039;
    XID8 5069 "xid8" Kind::Simple => Xid8, XID8_ARRAY 271;
}
