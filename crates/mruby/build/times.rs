//! Corrections of mruby's Time: what is no number was one, namely the address of its object, and years were counted one by one.

/// File, text as it stands (exactly once), text as it should be.
pub(crate) const CORRECTIONS: &[(&str, &str, &str)] = &[
    // What is no number was taken for one: its address became seconds. `Time.at("x")` raises TypeError, what is beyond 64 bits
    // RangeError, and a Rational is exact to the microsecond.
    (
        "mrbgems/mruby-time/src/time.c",
        "    default:\n    case MRB_TT_INTEGER:\n",
        "    default:\n      {\n        struct mrb_time *tm = DATA_CHECK_GET_PTR(mrb, obj, &mrb_time_type, struct mrb_time);\n        if (!tm || !usec) mrb_raisef(mrb, E_TYPE_ERROR, \"can't convert %Y into an exact number\", obj);\n        t = tm->sec;\n        *usec = tm->usec;\n      }\n      break;\n    case MRB_TT_BIGINT:\n      mrb_raise(mrb, E_RANGE_ERROR, \"an Integer beyond 64 bits is out of Time range\");\n    case MRB_TT_RATIONAL:\n      {\n        mrb_int numerator, denominator;\n        mrb_rational_parts(mrb, obj, &numerator, &denominator);\n        t = (time_t)(numerator / denominator);\n        mrb_int rest = numerator % denominator;\n        if (rest < 0) {\n          t--;\n          rest += denominator;\n        }\n        if (usec) *usec = (time_t)((__int128)rest * 1000000 / denominator);\n      }\n      break;\n    case MRB_TT_INTEGER:\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "static time_t\nmrb_to_time_t(mrb_state *mrb, mrb_value obj, time_t *usec)\n{\n  time_t t;\n",
        "void mrb_rational_parts(mrb_state *mrb, mrb_value rational, mrb_int *numerator, mrb_int *denominator);\n\nstatic time_t\nmrb_to_time_t(mrb_state *mrb, mrb_value obj, time_t *usec)\n{\n  time_t t;\n",
    ),
    (
        "mrbgems/mruby-rational/src/rational.c",
        "static mrb_value\nrational_numerator(",
        "/* The denominator is positive. */\nvoid\nmrb_rational_parts(mrb_state *mrb, mrb_value rational, mrb_int *numerator, mrb_int *denominator)\n{\n  struct mrb_rational *p = rational_ptr(mrb, rational);\n\n  if (p->denominator <= 0) mrb_raise(mrb, E_ARGUMENT_ERROR, \"uninitialized rational\");\n  *numerator = p->numerator;\n  *denominator = p->denominator;\n}\n\nstatic mrb_value\nrational_numerator(",
    ),
    // A moment that no Time can be is a RangeError, as that of an Integer is.
    (
        "mrbgems/mruby-time/src/time.c",
        "  mrb_raisef(mrb, E_ARGUMENT_ERROR, \"%v out of Time range\", obj);\n",
        "  mrb_raisef(mrb, E_RANGE_ERROR, \"%v out of Time range\", obj);\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "    mrb_sec sec = (mrb_sec)t;\n\n    if (dealloc) mrb_free(mrb, self);\n    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"%v out of Time range\", mrb_sec_value(mrb, sec));\n",
        "    if (dealloc) mrb_free(mrb, self);\n    mrb_raisef(mrb, E_RANGE_ERROR, \"%i out of Time range\", (mrb_int)t);\n",
    ),
    // Microseconds are from 0 to 999,999, also of a moment before 1970: those of `Time.at(-0.5)` were negative, and its second was 0.
    // What they carry may be too much for the seconds.
    (
        "mrbgems/mruby-time/src/time.c",
        "  tm = (struct mrb_time *)mrb_malloc(mrb, sizeof(struct mrb_time));\n  tm->sec  = sec;\n  tm->usec = usec;\n  if (MRB_TIME_T_UINT && tm->usec < 0) {\n    long sec2 = (long)NDIV(tm->usec,1000000); /* negative div */\n    tm->usec -= sec2 * 1000000;\n    tm->sec += sec2;\n  }\n  else if (tm->usec >= 1000000) {\n    long sec2 = (long)(tm->usec / 1000000);\n    tm->usec -= sec2 * 1000000;\n    tm->sec += sec2;\n  }\n  tm->timezone = timezone;\n",
        "  time_t carry = usec / 1000000;\n  usec %= 1000000;\n  if (usec < 0) {\n    usec += 1000000;\n    carry--;\n  }\n  if (__builtin_add_overflow(sec, carry, &sec)) {\n    mrb_raise(mrb, E_RANGE_ERROR, \"microseconds are out of Time range\");\n  }\n  tm = (struct mrb_time *)mrb_malloc(mrb, sizeof(struct mrb_time));\n  tm->sec  = sec;\n  tm->usec = usec;\n  tm->timezone = timezone;\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "  tusec += mrb_to_time_t(mrb, usec, NULL);\n",
        "  if (__builtin_add_overflow(tusec, mrb_to_time_t(mrb, usec, NULL), &tusec)) {\n    mrb_raise(mrb, E_RANGE_ERROR, \"microseconds are out of Time range\");\n  }\n",
    ),
    // A moment and a moment have no sum.
    (
        "mrbgems/mruby-time/src/time.c",
        "  sec = mrb_to_time_t(mrb, o, &usec);\n",
        "  if (DATA_CHECK_GET_PTR(mrb, o, &mrb_time_type, struct mrb_time)) mrb_raise(mrb, E_TYPE_ERROR, \"time + time?\");\n  sec = mrb_to_time_t(mrb, o, &usec);\n",
    ),
    // The seconds of a date were counted year by year: seconds of a worker for a year that a client chose, and garbage before 1.
    (
        "mrbgems/mruby-time/src/time.c",
        "static unsigned int\nis_leapyear(unsigned int y)\n{\n  return (y % 4) == 0 && ((y % 100) != 0 || (y % 400) == 0);\n}\n\n",
        "",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "  static const unsigned int ndays[2][12] = {\n    {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31},\n    {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}\n  };\n  time_t r = 0;\n  int i;\n  unsigned int *nday = (unsigned int*) ndays[is_leapyear(tm->tm_year+1900)];\n\n  static const int epoch_year = 70;\n  if(tm->tm_year >= epoch_year) {\n    for (i = epoch_year; i < tm->tm_year; ++i)\n      r += is_leapyear(i+1900) ? 366*24*60*60 : 365*24*60*60;\n  } else {\n    for (i = tm->tm_year; i < epoch_year; ++i)\n      r -= is_leapyear(i+1900) ? 366*24*60*60 : 365*24*60*60;\n  }\n  for (i = 0; i < tm->tm_mon; ++i)\n    r += nday[i] * 24 * 60 * 60;\n  r += (tm->tm_mday - 1) * 24 * 60 * 60;\n  r += tm->tm_hour * 60 * 60;\n  r += tm->tm_min * 60;\n  r += tm->tm_sec;\n  return r;\n",
        "  /* Years begin in March, so that the day that not all have is the last; the calendar repeats itself after 400 of them. */\n  time_t year = (time_t)tm->tm_year + 1900 - (tm->tm_mon < 2);\n  time_t cycle = (year < 0 ? year - 399 : year) / 400;\n  time_t year_of_cycle = year - cycle * 400;\n  time_t day_of_year = (153 * ((tm->tm_mon + 10) % 12) + 2) / 5 + tm->tm_mday - 1;\n  time_t day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;\n  time_t days = cycle * 146097 + day_of_cycle - 719468; /* from 0000-03-01 to 1970-01-01 */\n  return ((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;\n",
    ),
    // Years before 1900 were refused, those beyond 32 bits were other ones, and those of less than four digits were written without zeros.
    (
        "mrbgems/mruby-time/src/time.c",
        "  if (ayear < 1900 || OUTINT(ayear-1900) ||\n",
        "  if (ayear < (mrb_int)INT_MIN + 1900 || ayear > (mrb_int)INT_MAX + 1900 ||\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "  return mrb_fixnum_value(tm->datetime.tm_year + 1900);\n",
        "  return mrb_int_value(mrb, (mrb_int)tm->datetime.tm_year + 1900);\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "  len = snprintf(buf, sizeof(buf), \"%s %s %2d %02d:%02d:%02d %.4d\",\n    wday_names[d->tm_wday], mon_names[d->tm_mon], d->tm_mday,\n    d->tm_hour, d->tm_min, d->tm_sec,\n    d->tm_year + 1900);\n",
        "  len = snprintf(buf, sizeof(buf), \"%s %s %2d %02d:%02d:%02d %.4lld\",\n    wday_names[d->tm_wday], mon_names[d->tm_mon], d->tm_mday,\n    d->tm_hour, d->tm_min, d->tm_sec,\n    (long long)d->tm_year + 1900);\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "#define TO_S_FMT \"%Y-%m-%d %H:%M:%S \"\n",
        "#define TO_S_FMT \"-%m-%d %H:%M:%S \"\n",
    ),
    (
        "mrbgems/mruby-time/src/time.c",
        "  char buf[64];\n  size_t len;\n\n  if (tm->timezone == MRB_TIMEZONE_UTC) {\n    len = strftime(buf, sizeof(buf), TO_S_FMT \"UTC\", &tm->datetime);\n  }\n  else {\n    len = strftime(buf, sizeof(buf), TO_S_FMT, &tm->datetime);\n",
        "  char buf[64];\n  size_t len = (size_t)snprintf(buf, sizeof(buf), \"%.4lld\", (long long)tm->datetime.tm_year + 1900);\n\n  if (tm->timezone == MRB_TIMEZONE_UTC) {\n    len += strftime(buf+len, sizeof(buf)-len, TO_S_FMT \"UTC\", &tm->datetime);\n  }\n  else {\n    len += strftime(buf+len, sizeof(buf)-len, TO_S_FMT, &tm->datetime);\n",
    ),
];
