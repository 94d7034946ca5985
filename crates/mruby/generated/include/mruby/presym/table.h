static const uint16_t presym_length_table[] = {
  1,	/* ! */
  1,	/* % */
  1,	/* & */
  1,	/* * */
  1,	/* + */
  1,	/* - */
  1,	/* / */
  1,	/* < */
  1,	/* > */
  1,	/* E */
  1,	/* ^ */
  1,	/* ` */
  1,	/* a */
  1,	/* b */
  1,	/* c */
  1,	/* e */
  1,	/* h */
  1,	/* i */
  1,	/* j */
  1,	/* k */
  1,	/* m */
  1,	/* n */
  1,	/* o */
  1,	/* s */
  1,	/* v */
  1,	/* x */
  1,	/* y */
  1,	/* z */
  1,	/* | */
  1,	/* ~ */
  2,	/* != */
  2,	/* !~ */
  2,	/* && */
  2,	/* ** */
  2,	/* +@ */
  2,	/* -@ */
  2,	/* << */
  2,	/* <= */
  2,	/* == */
  2,	/* =~ */
  2,	/* >= */
  2,	/* >> */
  2,	/* GC */
  2,	/* PI */
  2,	/* [] */
  2,	/* ar */
  2,	/* at */
  2,	/* bi */
  2,	/* bs */
  2,	/* e2 */
  2,	/* e3 */
  2,	/* ed */
  2,	/* ei */
  2,	/* gm */
  2,	/* lz */
  2,	/* nk */
  2,	/* nv */
  2,	/* pc */
  2,	/* sc */
  2,	/* sv */
  2,	/* tr */
  2,	/* vs */
  2,	/* || */
  3,	/* <=> */
  3,	/* === */
  3,	/* DIG */
  3,	/* MAX */
  3,	/* MIN */
  3,	/* NAN */
  3,	/* Set */
  3,	/* []= */
  3,	/* abs */
  3,	/* add */
  3,	/* arg */
  3,	/* ary */
  3,	/* beg */
  3,	/* blk */
  3,	/* buf */
  3,	/* chr */
  3,	/* cmp */
  3,	/* cos */
  3,	/* day */
  3,	/* dig */
  3,	/* div */
  3,	/* dup */
  3,	/* end */
  3,	/* env */
  3,	/* erf */
  3,	/* exp */
  3,	/* fib */
  3,	/* hex */
  3,	/* idx */
  3,	/* key */
  3,	/* kwd */
  3,	/* len */
  3,	/* lhs */
  3,	/* lim */
  3,	/* log */
  3,	/* low */
  3,	/* map */
  3,	/* max */
  3,	/* mid */
  3,	/* min */
  3,	/* mon */
  3,	/* new */
  3,	/* now */
  3,	/* num */
  3,	/* obj */
  3,	/* oct */
  3,	/* opt */
  3,	/* ord */
  3,	/* pat */
  3,	/* pop */
  3,	/* pos */
  3,	/* pow */
  3,	/* quo */
  3,	/* req */
  3,	/* res */
  3,	/* ret */
  3,	/* rhs */
  3,	/* row */
  3,	/* sec */
  3,	/* sep */
  3,	/* set */
  3,	/* sin */
  3,	/* str */
  3,	/* sub */
  3,	/* sum */
  3,	/* sym */
  3,	/* tag */
  3,	/* tan */
  3,	/* tap */
  3,	/* tmp */
  3,	/* tr! */
  3,	/* utc */
  3,	/* val */
  3,	/* zip */
  4,	/* @dst */
  4,	/* @fib */
  4,	/* @kwd */
  4,	/* @obj */
  4,	/* @pos */
  4,	/* @tag */
  4,	/* Data */
  4,	/* FREE */
  4,	/* Hash */
  4,	/* Lazy */
  4,	/* Math */
  4,	/* NONE */
  4,	/* Proc */
  4,	/* Time */
  4,	/* _new */
  4,	/* acos */
  4,	/* add? */
  4,	/* all? */
  4,	/* any? */
  4,	/* arg0 */
  4,	/* arg1 */
  4,	/* arg2 */
  4,	/* args */
  4,	/* argv */
  4,	/* arys */
  4,	/* asin */
  4,	/* atan */
  4,	/* attr */
  4,	/* bind */
  4,	/* bsiz */
  4,	/* call */
  4,	/* cbrt */
  4,	/* ceil */
  4,	/* char */
  4,	/* chop */
  4,	/* cosh */
  4,	/* curr */
  4,	/* drop */
  4,	/* dst? */
  4,	/* dump */
  4,	/* e_id */
  4,	/* each */
  4,	/* elem */
  4,	/* enum */
  4,	/* eql? */
  4,	/* erfc */
  4,	/* eval */
  4,	/* fail */
  4,	/* feed */
  4,	/* fill */
  4,	/* find */
  4,	/* flag */
  4,	/* func */
  4,	/* gmt? */
  4,	/* grep */
  4,	/* gsub */
  4,	/* hash */
  4,	/* high */
  4,	/* hour */
  4,	/* idx2 */
  4,	/* init */
  4,	/* join */
  4,	/* key? */
  4,	/* keys */
  4,	/* lary */
  4,	/* last */
  4,	/* lazy */
  4,	/* left */
  4,	/* lidx */
  4,	/* line */
  4,	/* list */
  4,	/* log2 */
  4,	/* loop */
  4,	/* lval */
  4,	/* map! */
  4,	/* mask */
  4,	/* mday */
  4,	/* meth */
  4,	/* name */
  4,	/* nan? */
  4,	/* next */
  4,	/* nil? */
  4,	/* none */
  4,	/* obj= */
  4,	/* one? */
  4,	/* opts */
  4,	/* orig */
  4,	/* pack */
  4,	/* pad1 */
  4,	/* pad2 */
  4,	/* peek */
  4,	/* plen */
  4,	/* proc */
  4,	/* push */
  4,	/* rand */
  4,	/* recv */
  4,	/* rest */
  4,	/* ridx */
  4,	/* rval */
  4,	/* seen */
  4,	/* send */
  4,	/* sinh */
  4,	/* size */
  4,	/* sort */
  4,	/* sqrt */
  4,	/* step */
  4,	/* str2 */
  4,	/* sub! */
  4,	/* succ */
  4,	/* take */
  4,	/* tanh */
  4,	/* then */
  4,	/* to_a */
  4,	/* to_f */
  4,	/* to_h */
  4,	/* to_i */
  4,	/* to_r */
  4,	/* to_s */
  4,	/* tr_s */
  4,	/* type */
  4,	/* uniq */
  4,	/* upto */
  4,	/* usec */
  4,	/* utc? */
  4,	/* vals */
  4,	/* wday */
  4,	/* yday */
  4,	/* year */
  4,	/* zone */
  5,	/* @args */
  5,	/* @hash */
  5,	/* @meth */
  5,	/* @name */
  5,	/* @proc */
  5,	/* Array */
  5,	/* Chain */
  5,	/* Class */
  5,	/* Fiber */
  5,	/* Float */
  5,	/* RADIX */
  5,	/* Range */
  5,	/* TOTAL */
  5,	/* T_ENV */
  5,	/* _name */
  5,	/* _proc */
  5,	/* _recv */
  5,	/* acosh */
  5,	/* args= */
  5,	/* arity */
  5,	/* array */
  5,	/* ary_F */
  5,	/* ary_T */
  5,	/* asinh */
  5,	/* assoc */
  5,	/* atan2 */
  5,	/* atanh */
  5,	/* begin */
  5,	/* block */
  5,	/* bytes */
  5,	/* catch */
  5,	/* chain */
  5,	/* chars */
  5,	/* chomp */
  5,	/* chop! */
  5,	/* clamp */
  5,	/* class */
  5,	/* clear */
  5,	/* clone */
  5,	/* count */
  5,	/* ctime */
  5,	/* curry */
  5,	/* cycle */
  5,	/* depth */
  5,	/* enums */
  5,	/* fetch */
  5,	/* field */
  5,	/* first */
  5,	/* floor */
  5,	/* force */
  5,	/* found */
  5,	/* frexp */
  5,	/* getgm */
  5,	/* group */
  5,	/* gsub! */
  5,	/* hypot */
  5,	/* index */
  5,	/* is_a? */
  5,	/* ldexp */
  5,	/* level */
  5,	/* lines */
  5,	/* ljust */
  5,	/* local */
  5,	/* log10 */
  5,	/* lsize */
  5,	/* merge */
  5,	/* meth= */
  5,	/* month */
  5,	/* names */
  5,	/* next! */
  5,	/* none? */
  5,	/* other */
  5,	/* owner */
  5,	/* pproc */
  5,	/* raise */
  5,	/* reset */
  5,	/* right */
  5,	/* rjust */
  5,	/* round */
  5,	/* shift */
  5,	/* slice */
  5,	/* sort! */
  5,	/* split */
  5,	/* srand */
  5,	/* stack */
  5,	/* start */
  5,	/* state */
  5,	/* store */
  5,	/* strip */
  5,	/* succ! */
  5,	/* taken */
  5,	/* tally */
  5,	/* throw */
  5,	/* times */
  5,	/* total */
  5,	/* tr_s! */
  5,	/* union */
  5,	/* uniq! */
  5,	/* value */
  5,	/* width */
  5,	/* yield */
  5,	/* zero? */
  6,	/* @enums */
  6,	/* @value */
  6,	/* Fixnum */
  6,	/* Kernel */
  6,	/* Method */
  6,	/* Module */
  6,	/* Object */
  6,	/* Random */
  6,	/* Regexp */
  6,	/* String */
  6,	/* Struct */
  6,	/* Symbol */
  6,	/* T_CPTR */
  6,	/* T_DATA */
  6,	/* T_HASH */
  6,	/* T_PROC */
  6,	/* __id__ */
  6,	/* _klass */
  6,	/* _owner */
  6,	/* alive? */
  6,	/* append */
  6,	/* caller */
  6,	/* center */
  6,	/* chomp! */
  6,	/* concat */
  6,	/* cover? */
  6,	/* define */
  6,	/* delete */
  6,	/* detect */
  6,	/* digits */
  6,	/* divide */
  6,	/* divmod */
  6,	/* downto */
  6,	/* empty? */
  6,	/* enable */
  6,	/* equal? */
  6,	/* except */
  6,	/* extend */
  6,	/* filter */
  6,	/* format */
  6,	/* freeze */
  6,	/* getutc */
  6,	/* gmtime */
  6,	/* ifnone */
  6,	/* inject */
  6,	/* insert */
  6,	/* intern */
  6,	/* invert */
  6,	/* itself */
  6,	/* keyreq */
  6,	/* lambda */
  6,	/* length */
  6,	/* longer */
  6,	/* lstrip */
  6,	/* max_by */
  6,	/* maxlen */
  6,	/* merge! */
  6,	/* method */
  6,	/* min_by */
  6,	/* minmax */
  6,	/* mktime */
  6,	/* modulo */
  6,	/* object */
  6,	/* offset */
  6,	/* others */
  6,	/* padstr */
  6,	/* public */
  6,	/* random */
  6,	/* rassoc */
  6,	/* reduce */
  6,	/* rehash */
  6,	/* reject */
  6,	/* result */
  6,	/* resume */
  6,	/* rewind */
  6,	/* rindex */
  6,	/* rotate */
  6,	/* rstrip */
  6,	/* sample */
  6,	/* select */
  6,	/* slice! */
  6,	/* string */
  6,	/* strip! */
  6,	/* to_int */
  6,	/* to_str */
  6,	/* to_sym */
  6,	/* unbind */
  6,	/* unpack */
  6,	/* upcase */
  6,	/* update */
  6,	/* value? */
  6,	/* values */
  7,	/* Binding */
  7,	/* Complex */
  7,	/* EPSILON */
  7,	/* Integer */
  7,	/* MAX_EXP */
  7,	/* MIN_EXP */
  7,	/* Numeric */
  7,	/* T_ARRAY */
  7,	/* T_BREAK */
  7,	/* T_CLASS */
  7,	/* T_FIBER */
  7,	/* T_FLOAT */
  7,	/* T_RANGE */
  7,	/* Yielder */
  7,	/* __lines */
  7,	/* __merge */
  7,	/* asctime */
  7,	/* binding */
  7,	/* bsearch */
  7,	/* casecmp */
  7,	/* ceildiv */
  7,	/* collect */
  7,	/* compact */
  7,	/* compile */
  7,	/* current */
  7,	/* default */
  7,	/* delete! */
  7,	/* delete? */
  7,	/* disable */
  7,	/* dropped */
  7,	/* entries */
  7,	/* filter! */
  7,	/* finite? */
  7,	/* flatten */
  7,	/* friday? */
  7,	/* frozen? */
  7,	/* getbyte */
  7,	/* include */
  7,	/* inspect */
  7,	/* keep_if */
  7,	/* keyrest */
  7,	/* lambda? */
  7,	/* lstrip! */
  7,	/* max_cmp */
  7,	/* member? */
  7,	/* members */
  7,	/* message */
  7,	/* methods */
  7,	/* min_cmp */
  7,	/* modules */
  7,	/* monday? */
  7,	/* nesting */
  7,	/* new_key */
  7,	/* nobits? */
  7,	/* padding */
  7,	/* pattern */
  7,	/* pointer */
  7,	/* prepend */
  7,	/* private */
  7,	/* produce */
  7,	/* product */
  7,	/* reject! */
  7,	/* replace */
  7,	/* result= */
  7,	/* reverse */
  7,	/* rotate! */
  7,	/* rstrip! */
  7,	/* select! */
  7,	/* sep_len */
  7,	/* setbyte */
  7,	/* shorter */
  7,	/* shuffle */
  7,	/* sort_by */
  7,	/* sprintf */
  7,	/* squeeze */
  7,	/* subset? */
  7,	/* sunday? */
  7,	/* to_enum */
  7,	/* to_proc */
  7,	/* unpack1 */
  7,	/* unshift */
  7,	/* upcase! */
  7,	/* yielder */
  8,	/* INFINITY */
  8,	/* KeyError */
  8,	/* MANT_DIG */
  8,	/* NilClass */
  8,	/* Rational */
  8,	/* T_BIGINT */
  8,	/* T_ICLASS */
  8,	/* T_MODULE */
  8,	/* T_OBJECT */
  8,	/* T_SCLASS */
  8,	/* T_STRING */
  8,	/* T_STRUCT */
  8,	/* __ary_eq */
  8,	/* __delete */
  8,	/* __merged */
  8,	/* __send__ */
  8,	/* __svalue */
  8,	/* __to_int */
  8,	/* _inspect */
  8,	/* allbits? */
  8,	/* allocate */
  8,	/* anybits? */
  8,	/* between? */
  8,	/* bytesize */
  8,	/* casecmp? */
  8,	/* classify */
  8,	/* collect! */
  8,	/* compact! */
  8,	/* default= */
  8,	/* downcase */
  8,	/* dropping */
  8,	/* each_key */
  8,	/* enum_for */
  8,	/* extended */
  8,	/* find_all */
  8,	/* flat_map */
  8,	/* flatten! */
  8,	/* getlocal */
  8,	/* group_by */
  8,	/* has_key? */
  8,	/* include? */
  8,	/* included */
  8,	/* kind_of? */
  8,	/* modified */
  8,	/* new_args */
  8,	/* nonzero? */
  8,	/* receiver */
  8,	/* reverse! */
  8,	/* self_len */
  8,	/* shuffle! */
  8,	/* squeeze! */
  8,	/* str_each */
  8,	/* subtract */
  8,	/* swapcase */
  8,	/* transfer */
  8,	/* truncate */
  8,	/* tuesday? */
  9,	/* @stop_exc */
  9,	/* Exception */
  9,	/* Generator */
  9,	/* NameError */
  9,	/* T_COMPLEX */
  9,	/* T_INTEGER */
  9,	/* T_ISTRUCT */
  9,	/* TrueClass */
  9,	/* TypeError */
  9,	/* __ary_cmp */
  9,	/* __outer__ */
  9,	/* _gc_root_ */
  9,	/* _sys_fail */
  9,	/* ancestors */
  9,	/* backtrace */
  9,	/* bind_call */
  9,	/* byteindex */
  9,	/* byteslice */
  9,	/* const_get */
  9,	/* const_set */
  9,	/* constants */
  9,	/* delete_at */
  9,	/* delete_if */
  9,	/* disjoint? */
  9,	/* downcase! */
  9,	/* each_byte */
  9,	/* each_char */
  9,	/* each_cons */
  9,	/* each_line */
  9,	/* each_pair */
  9,	/* end_with? */
  9,	/* exception */
  9,	/* exclusive */
  9,	/* feedvalue */
  9,	/* infinite? */
  9,	/* inherited */
  9,	/* iterator? */
  9,	/* localtime */
  9,	/* minmax_by */
  9,	/* negative? */
  9,	/* numerator */
  9,	/* object_id */
  9,	/* partition */
  9,	/* positive? */
  9,	/* prepended */
  9,	/* protected */
  9,	/* remainder */
  9,	/* satisfied */
  9,	/* saturday? */
  9,	/* separator */
  9,	/* superset? */
  9,	/* swapcase! */
  9,	/* thursday? */
  9,	/* transpose */
  9,	/* validated */
  9,	/* values_at */
  10,	/* @feedvalue */
  10,	/* @lookahead */
  10,	/* Comparable */
  10,	/* Enumerable */
  10,	/* Enumerator */
  10,	/* FalseClass */
  10,	/* FiberError */
  10,	/* IndexError */
  10,	/* MAX_10_EXP */
  10,	/* MIN_10_EXP */
  10,	/* RangeError */
  10,	/* T_RATIONAL */
  10,	/* __callee__ */
  10,	/* __case_eqq */
  10,	/* __get_hash */
  10,	/* __method__ */
  10,	/* __num_to_a */
  10,	/* byterindex */
  10,	/* capitalize */
  10,	/* class_eval */
  10,	/* class_exec */
  10,	/* codepoints */
  10,	/* difference */
  10,	/* drop_while */
  10,	/* each_index */
  10,	/* each_slice */
  10,	/* each_value */
  10,	/* filter_map */
  10,	/* find_index */
  10,	/* given_args */
  10,	/* has_value? */
  10,	/* initialize */
  10,	/* intersect? */
  10,	/* make_curry */
  10,	/* parameters */
  10,	/* recur_list */
  10,	/* rpartition */
  10,	/* self_arity */
  10,	/* step_ratio */
  10,	/* subclasses */
  10,	/* superclass */
  10,	/* take_while */
  10,	/* wednesday? */
  10,	/* with_index */
  10,	/* yield_self */
  11,	/* BasicObject */
  11,	/* DomainError */
  11,	/* FrozenError */
  11,	/* ObjectSpace */
  11,	/* RUBY_ENGINE */
  11,	/* RegexpError */
  11,	/* ScriptError */
  11,	/* SyntaxError */
  11,	/* T_EXCEPTION */
  11,	/* __ary_index */
  11,	/* __members__ */
  11,	/* _recur_list */
  11,	/* attr_reader */
  11,	/* attr_writer */
  11,	/* capitalize! */
  11,	/* combination */
  11,	/* denominator */
  11,	/* each_object */
  11,	/* module_eval */
  11,	/* module_exec */
  11,	/* next_values */
  11,	/* peek_values */
  11,	/* permutation */
  11,	/* respond_to? */
  11,	/* start_with? */
  11,	/* step_ratio= */
  11,	/* with_object */
  12,	/* RUBY_VERSION */
  12,	/* RuntimeError */
  12,	/* __ENCODING__ */
  12,	/* __attached__ */
  12,	/* alias_method */
  12,	/* block_given? */
  12,	/* column_count */
  12,	/* column_index */
  12,	/* default_proc */
  12,	/* exclude_end? */
  12,	/* fetch_values */
  12,	/* instance_of? */
  12,	/* intersection */
  12,	/* method_added */
  12,	/* mruby_Random */
  12,	/* remove_const */
  12,	/* reverse_each */
  12,	/* super_method */
  12,	/* undef_method */
  13,	/* ArgumentError */
  13,	/* MRUBY_VERSION */
  13,	/* NoMemoryError */
  13,	/* NoMethodError */
  13,	/* StandardError */
  13,	/* StopIteration */
  13,	/* UnboundMethod */
  13,	/* __classname__ */
  13,	/* __sub_replace */
  13,	/* __update_hash */
  13,	/* attr_accessor */
  13,	/* bsearch_index */
  13,	/* const_missing */
  13,	/* count_objects */
  13,	/* default_proc= */
  13,	/* define_method */
  13,	/* delete_prefix */
  13,	/* delete_suffix */
  13,	/* extend_object */
  13,	/* flatten_merge */
  13,	/* in_lower_half */
  13,	/* instance_eval */
  13,	/* instance_exec */
  13,	/* remove_method */
  13,	/* set_backtrace */
  14,	/* LocalJumpError */
  14,	/* __do_with_enum */
  14,	/* __upto_endless */
  14,	/* collect_concat */
  14,	/* const_defined? */
  14,	/* delete_prefix! */
  14,	/* delete_suffix! */
  14,	/* each_codepoint */
  14,	/* interval_ratio */
  14,	/* method_missing */
  14,	/* method_removed */
  14,	/* paragraph_mode */
  14,	/* proper_subset? */
  14,	/* public_methods */
  14,	/* transform_keys */
  15,	/* MRUBY_COPYRIGHT */
  15,	/* SystemCallError */
  15,	/* append_features */
  15,	/* attached_object */
  15,	/* class_variables */
  15,	/* each_with_index */
  15,	/* initialize_copy */
  15,	/* instance_method */
  15,	/* interval_ratio= */
  15,	/* local_variables */
  15,	/* method_defined? */
  15,	/* module_function */
  15,	/* pad_repetitions */
  15,	/* private_methods */
  15,	/* singleton_class */
  15,	/* source_location */
  15,	/* transform_keys! */
  16,	/* FloatDomainError */
  16,	/* MRUBY_RELEASE_NO */
  16,	/* SystemStackError */
  16,	/* each_with_object */
  16,	/* global_variables */
  16,	/* included_modules */
  16,	/* instance_methods */
  16,	/* prepend_features */
  16,	/* proper_superset? */
  16,	/* singleton_class? */
  16,	/* singleton_method */
  16,	/* transform_values */
  17,	/* MRUBY_DESCRIPTION */
  17,	/* ZeroDivisionError */
  17,	/* generational_mode */
  17,	/* protected_methods */
  17,	/* singleton_methods */
  17,	/* transform_values! */
  18,	/* MRUBY_RELEASE_DATE */
  18,	/* UncaughtThrowError */
  18,	/* class_variable_get */
  18,	/* class_variable_set */
  18,	/* generational_mode= */
  18,	/* instance_variables */
  18,	/* local_variable_get */
  18,	/* local_variable_set */
  19,	/* NotImplementedError */
  19,	/* RUBY_ENGINE_VERSION */
  19,	/* respond_to_missing? */
  20,	/* repeated_combination */
  20,	/* repeated_permutation */
  21,	/* __coerce_step_counter */
  21,	/* enumerator_block_call */
  21,	/* instance_variable_get */
  21,	/* instance_variable_set */
  21,	/* remove_class_variable */
  22,	/* __repeated_combination */
  22,	/* singleton_method_added */
  23,	/* class_variable_defined? */
  23,	/* define_singleton_method */
  23,	/* local_variable_defined? */
  24,	/* remove_instance_variable */
  26,	/* instance_variable_defined? */
  26,	/* undefined_instance_methods */
};

static const char * const presym_name_table[] = {
  "!",
  "%",
  "&",
  "*",
  "+",
  "-",
  "/",
  "<",
  ">",
  "E",
  "^",
  "`",
  "a",
  "b",
  "c",
  "e",
  "h",
  "i",
  "j",
  "k",
  "m",
  "n",
  "o",
  "s",
  "v",
  "x",
  "y",
  "z",
  "|",
  "~",
  "!=",
  "!~",
  "&&",
  "**",
  "+@",
  "-@",
  "<<",
  "<=",
  "==",
  "=~",
  ">=",
  ">>",
  "GC",
  "PI",
  "[]",
  "ar",
  "at",
  "bi",
  "bs",
  "e2",
  "e3",
  "ed",
  "ei",
  "gm",
  "lz",
  "nk",
  "nv",
  "pc",
  "sc",
  "sv",
  "tr",
  "vs",
  "||",
  "<=>",
  "===",
  "DIG",
  "MAX",
  "MIN",
  "NAN",
  "Set",
  "[]=",
  "abs",
  "add",
  "arg",
  "ary",
  "beg",
  "blk",
  "buf",
  "chr",
  "cmp",
  "cos",
  "day",
  "dig",
  "div",
  "dup",
  "end",
  "env",
  "erf",
  "exp",
  "fib",
  "hex",
  "idx",
  "key",
  "kwd",
  "len",
  "lhs",
  "lim",
  "log",
  "low",
  "map",
  "max",
  "mid",
  "min",
  "mon",
  "new",
  "now",
  "num",
  "obj",
  "oct",
  "opt",
  "ord",
  "pat",
  "pop",
  "pos",
  "pow",
  "quo",
  "req",
  "res",
  "ret",
  "rhs",
  "row",
  "sec",
  "sep",
  "set",
  "sin",
  "str",
  "sub",
  "sum",
  "sym",
  "tag",
  "tan",
  "tap",
  "tmp",
  "tr!",
  "utc",
  "val",
  "zip",
  "@dst",
  "@fib",
  "@kwd",
  "@obj",
  "@pos",
  "@tag",
  "Data",
  "FREE",
  "Hash",
  "Lazy",
  "Math",
  "NONE",
  "Proc",
  "Time",
  "_new",
  "acos",
  "add?",
  "all?",
  "any?",
  "arg0",
  "arg1",
  "arg2",
  "args",
  "argv",
  "arys",
  "asin",
  "atan",
  "attr",
  "bind",
  "bsiz",
  "call",
  "cbrt",
  "ceil",
  "char",
  "chop",
  "cosh",
  "curr",
  "drop",
  "dst?",
  "dump",
  "e_id",
  "each",
  "elem",
  "enum",
  "eql?",
  "erfc",
  "eval",
  "fail",
  "feed",
  "fill",
  "find",
  "flag",
  "func",
  "gmt?",
  "grep",
  "gsub",
  "hash",
  "high",
  "hour",
  "idx2",
  "init",
  "join",
  "key?",
  "keys",
  "lary",
  "last",
  "lazy",
  "left",
  "lidx",
  "line",
  "list",
  "log2",
  "loop",
  "lval",
  "map!",
  "mask",
  "mday",
  "meth",
  "name",
  "nan?",
  "next",
  "nil?",
  "none",
  "obj=",
  "one?",
  "opts",
  "orig",
  "pack",
  "pad1",
  "pad2",
  "peek",
  "plen",
  "proc",
  "push",
  "rand",
  "recv",
  "rest",
  "ridx",
  "rval",
  "seen",
  "send",
  "sinh",
  "size",
  "sort",
  "sqrt",
  "step",
  "str2",
  "sub!",
  "succ",
  "take",
  "tanh",
  "then",
  "to_a",
  "to_f",
  "to_h",
  "to_i",
  "to_r",
  "to_s",
  "tr_s",
  "type",
  "uniq",
  "upto",
  "usec",
  "utc?",
  "vals",
  "wday",
  "yday",
  "year",
  "zone",
  "@args",
  "@hash",
  "@meth",
  "@name",
  "@proc",
  "Array",
  "Chain",
  "Class",
  "Fiber",
  "Float",
  "RADIX",
  "Range",
  "TOTAL",
  "T_ENV",
  "_name",
  "_proc",
  "_recv",
  "acosh",
  "args=",
  "arity",
  "array",
  "ary_F",
  "ary_T",
  "asinh",
  "assoc",
  "atan2",
  "atanh",
  "begin",
  "block",
  "bytes",
  "catch",
  "chain",
  "chars",
  "chomp",
  "chop!",
  "clamp",
  "class",
  "clear",
  "clone",
  "count",
  "ctime",
  "curry",
  "cycle",
  "depth",
  "enums",
  "fetch",
  "field",
  "first",
  "floor",
  "force",
  "found",
  "frexp",
  "getgm",
  "group",
  "gsub!",
  "hypot",
  "index",
  "is_a?",
  "ldexp",
  "level",
  "lines",
  "ljust",
  "local",
  "log10",
  "lsize",
  "merge",
  "meth=",
  "month",
  "names",
  "next!",
  "none?",
  "other",
  "owner",
  "pproc",
  "raise",
  "reset",
  "right",
  "rjust",
  "round",
  "shift",
  "slice",
  "sort!",
  "split",
  "srand",
  "stack",
  "start",
  "state",
  "store",
  "strip",
  "succ!",
  "taken",
  "tally",
  "throw",
  "times",
  "total",
  "tr_s!",
  "union",
  "uniq!",
  "value",
  "width",
  "yield",
  "zero?",
  "@enums",
  "@value",
  "Fixnum",
  "Kernel",
  "Method",
  "Module",
  "Object",
  "Random",
  "Regexp",
  "String",
  "Struct",
  "Symbol",
  "T_CPTR",
  "T_DATA",
  "T_HASH",
  "T_PROC",
  "__id__",
  "_klass",
  "_owner",
  "alive?",
  "append",
  "caller",
  "center",
  "chomp!",
  "concat",
  "cover?",
  "define",
  "delete",
  "detect",
  "digits",
  "divide",
  "divmod",
  "downto",
  "empty?",
  "enable",
  "equal?",
  "except",
  "extend",
  "filter",
  "format",
  "freeze",
  "getutc",
  "gmtime",
  "ifnone",
  "inject",
  "insert",
  "intern",
  "invert",
  "itself",
  "keyreq",
  "lambda",
  "length",
  "longer",
  "lstrip",
  "max_by",
  "maxlen",
  "merge!",
  "method",
  "min_by",
  "minmax",
  "mktime",
  "modulo",
  "object",
  "offset",
  "others",
  "padstr",
  "public",
  "random",
  "rassoc",
  "reduce",
  "rehash",
  "reject",
  "result",
  "resume",
  "rewind",
  "rindex",
  "rotate",
  "rstrip",
  "sample",
  "select",
  "slice!",
  "string",
  "strip!",
  "to_int",
  "to_str",
  "to_sym",
  "unbind",
  "unpack",
  "upcase",
  "update",
  "value?",
  "values",
  "Binding",
  "Complex",
  "EPSILON",
  "Integer",
  "MAX_EXP",
  "MIN_EXP",
  "Numeric",
  "T_ARRAY",
  "T_BREAK",
  "T_CLASS",
  "T_FIBER",
  "T_FLOAT",
  "T_RANGE",
  "Yielder",
  "__lines",
  "__merge",
  "asctime",
  "binding",
  "bsearch",
  "casecmp",
  "ceildiv",
  "collect",
  "compact",
  "compile",
  "current",
  "default",
  "delete!",
  "delete?",
  "disable",
  "dropped",
  "entries",
  "filter!",
  "finite?",
  "flatten",
  "friday?",
  "frozen?",
  "getbyte",
  "include",
  "inspect",
  "keep_if",
  "keyrest",
  "lambda?",
  "lstrip!",
  "max_cmp",
  "member?",
  "members",
  "message",
  "methods",
  "min_cmp",
  "modules",
  "monday?",
  "nesting",
  "new_key",
  "nobits?",
  "padding",
  "pattern",
  "pointer",
  "prepend",
  "private",
  "produce",
  "product",
  "reject!",
  "replace",
  "result=",
  "reverse",
  "rotate!",
  "rstrip!",
  "select!",
  "sep_len",
  "setbyte",
  "shorter",
  "shuffle",
  "sort_by",
  "sprintf",
  "squeeze",
  "subset?",
  "sunday?",
  "to_enum",
  "to_proc",
  "unpack1",
  "unshift",
  "upcase!",
  "yielder",
  "INFINITY",
  "KeyError",
  "MANT_DIG",
  "NilClass",
  "Rational",
  "T_BIGINT",
  "T_ICLASS",
  "T_MODULE",
  "T_OBJECT",
  "T_SCLASS",
  "T_STRING",
  "T_STRUCT",
  "__ary_eq",
  "__delete",
  "__merged",
  "__send__",
  "__svalue",
  "__to_int",
  "_inspect",
  "allbits?",
  "allocate",
  "anybits?",
  "between?",
  "bytesize",
  "casecmp?",
  "classify",
  "collect!",
  "compact!",
  "default=",
  "downcase",
  "dropping",
  "each_key",
  "enum_for",
  "extended",
  "find_all",
  "flat_map",
  "flatten!",
  "getlocal",
  "group_by",
  "has_key?",
  "include?",
  "included",
  "kind_of?",
  "modified",
  "new_args",
  "nonzero?",
  "receiver",
  "reverse!",
  "self_len",
  "shuffle!",
  "squeeze!",
  "str_each",
  "subtract",
  "swapcase",
  "transfer",
  "truncate",
  "tuesday?",
  "@stop_exc",
  "Exception",
  "Generator",
  "NameError",
  "T_COMPLEX",
  "T_INTEGER",
  "T_ISTRUCT",
  "TrueClass",
  "TypeError",
  "__ary_cmp",
  "__outer__",
  "_gc_root_",
  "_sys_fail",
  "ancestors",
  "backtrace",
  "bind_call",
  "byteindex",
  "byteslice",
  "const_get",
  "const_set",
  "constants",
  "delete_at",
  "delete_if",
  "disjoint?",
  "downcase!",
  "each_byte",
  "each_char",
  "each_cons",
  "each_line",
  "each_pair",
  "end_with?",
  "exception",
  "exclusive",
  "feedvalue",
  "infinite?",
  "inherited",
  "iterator?",
  "localtime",
  "minmax_by",
  "negative?",
  "numerator",
  "object_id",
  "partition",
  "positive?",
  "prepended",
  "protected",
  "remainder",
  "satisfied",
  "saturday?",
  "separator",
  "superset?",
  "swapcase!",
  "thursday?",
  "transpose",
  "validated",
  "values_at",
  "@feedvalue",
  "@lookahead",
  "Comparable",
  "Enumerable",
  "Enumerator",
  "FalseClass",
  "FiberError",
  "IndexError",
  "MAX_10_EXP",
  "MIN_10_EXP",
  "RangeError",
  "T_RATIONAL",
  "__callee__",
  "__case_eqq",
  "__get_hash",
  "__method__",
  "__num_to_a",
  "byterindex",
  "capitalize",
  "class_eval",
  "class_exec",
  "codepoints",
  "difference",
  "drop_while",
  "each_index",
  "each_slice",
  "each_value",
  "filter_map",
  "find_index",
  "given_args",
  "has_value?",
  "initialize",
  "intersect?",
  "make_curry",
  "parameters",
  "recur_list",
  "rpartition",
  "self_arity",
  "step_ratio",
  "subclasses",
  "superclass",
  "take_while",
  "wednesday?",
  "with_index",
  "yield_self",
  "BasicObject",
  "DomainError",
  "FrozenError",
  "ObjectSpace",
  "RUBY_ENGINE",
  "RegexpError",
  "ScriptError",
  "SyntaxError",
  "T_EXCEPTION",
  "__ary_index",
  "__members__",
  "_recur_list",
  "attr_reader",
  "attr_writer",
  "capitalize!",
  "combination",
  "denominator",
  "each_object",
  "module_eval",
  "module_exec",
  "next_values",
  "peek_values",
  "permutation",
  "respond_to?",
  "start_with?",
  "step_ratio=",
  "with_object",
  "RUBY_VERSION",
  "RuntimeError",
  "__ENCODING__",
  "__attached__",
  "alias_method",
  "block_given?",
  "column_count",
  "column_index",
  "default_proc",
  "exclude_end?",
  "fetch_values",
  "instance_of?",
  "intersection",
  "method_added",
  "mruby_Random",
  "remove_const",
  "reverse_each",
  "super_method",
  "undef_method",
  "ArgumentError",
  "MRUBY_VERSION",
  "NoMemoryError",
  "NoMethodError",
  "StandardError",
  "StopIteration",
  "UnboundMethod",
  "__classname__",
  "__sub_replace",
  "__update_hash",
  "attr_accessor",
  "bsearch_index",
  "const_missing",
  "count_objects",
  "default_proc=",
  "define_method",
  "delete_prefix",
  "delete_suffix",
  "extend_object",
  "flatten_merge",
  "in_lower_half",
  "instance_eval",
  "instance_exec",
  "remove_method",
  "set_backtrace",
  "LocalJumpError",
  "__do_with_enum",
  "__upto_endless",
  "collect_concat",
  "const_defined?",
  "delete_prefix!",
  "delete_suffix!",
  "each_codepoint",
  "interval_ratio",
  "method_missing",
  "method_removed",
  "paragraph_mode",
  "proper_subset?",
  "public_methods",
  "transform_keys",
  "MRUBY_COPYRIGHT",
  "SystemCallError",
  "append_features",
  "attached_object",
  "class_variables",
  "each_with_index",
  "initialize_copy",
  "instance_method",
  "interval_ratio=",
  "local_variables",
  "method_defined?",
  "module_function",
  "pad_repetitions",
  "private_methods",
  "singleton_class",
  "source_location",
  "transform_keys!",
  "FloatDomainError",
  "MRUBY_RELEASE_NO",
  "SystemStackError",
  "each_with_object",
  "global_variables",
  "included_modules",
  "instance_methods",
  "prepend_features",
  "proper_superset?",
  "singleton_class?",
  "singleton_method",
  "transform_values",
  "MRUBY_DESCRIPTION",
  "ZeroDivisionError",
  "generational_mode",
  "protected_methods",
  "singleton_methods",
  "transform_values!",
  "MRUBY_RELEASE_DATE",
  "UncaughtThrowError",
  "class_variable_get",
  "class_variable_set",
  "generational_mode=",
  "instance_variables",
  "local_variable_get",
  "local_variable_set",
  "NotImplementedError",
  "RUBY_ENGINE_VERSION",
  "respond_to_missing?",
  "repeated_combination",
  "repeated_permutation",
  "__coerce_step_counter",
  "enumerator_block_call",
  "instance_variable_get",
  "instance_variable_set",
  "remove_class_variable",
  "__repeated_combination",
  "singleton_method_added",
  "class_variable_defined?",
  "define_singleton_method",
  "local_variable_defined?",
  "remove_instance_variable",
  "instance_variable_defined?",
  "undefined_instance_methods",
};
