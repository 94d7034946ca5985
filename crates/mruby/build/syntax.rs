//! Corrections of what the parser makes of Ruby: what it understood otherwise than CRuby, without a word.

pub const CORRECTIONS: &[super::Correction] = &[
    // `begin … end while condition` runs its body before it asks. The condition was asked first, as after any other statement: the parser forgot that the
    // body had stood between `begin` and `end`. It is a node of its own now, and a loop whose body is such a node begins with a jump to it.
    (
        "mrbgems/mruby-compiler/core/node.h",
        "  NODE_SYMBOLS,\n  NODE_LAST",
        "  NODE_SYMBOLS,\n  NODE_KEYWORD_BEGIN,\n  NODE_LAST",
    ),
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "                      p->cmdarg_stack = (yyvsp[-2].stack);\n                      (yyval.nd) = (yyvsp[-1].nd);\n                    }\n#line 8350 ",
        "                      p->cmdarg_stack = (yyvsp[-2].stack);\n                      (yyval.nd) = list2((node*)NODE_KEYWORD_BEGIN, (yyvsp[-1].nd));\n                    }\n#line 8350 ",
    ),
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "  case NODE_BEGIN:\n    if (n->cdr) {\n      while (n->cdr) {",
        "  case NODE_KEYWORD_BEGIN:\n  case NODE_BEGIN:\n    if (n->cdr) {\n      while (n->cdr) {",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  case NODE_BEGIN:\n    if (val && !tree) {\n",
        "  case NODE_KEYWORD_BEGIN:\n  case NODE_BEGIN:\n    if (val && !tree) {\n",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  case NODE_UNTIL:\n    {\n      if (true_always(tree->car)) {\n",
        "  case NODE_UNTIL:\n    {\n      mrb_bool body_first = tree->cdr && nint(tree->cdr->car) == NODE_KEYWORD_BEGIN;\n      uint32_t first = JMPLINK_START;\n\n      if (body_first) {\n        /* asked after the body, whatever it is */\n      }\n      else if (true_always(tree->car)) {\n",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "      if (!val) lp->reg = -1;\n      lp->pc0 = new_label(s);\n      codegen(s, tree->car, VAL);\n      pop();\n      if (nt == NODE_WHILE) {",
        "      if (!val) lp->reg = -1;\n      if (body_first) first = genjmp_0(s, OP_JMP);\n      lp->pc0 = new_label(s);\n      codegen(s, tree->car, VAL);\n      pop();\n      if (nt == NODE_WHILE) {",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "      lp->pc1 = new_label(s);\n      codegen(s, tree->cdr, NOVAL);\n      genjmp(s, OP_JMP, lp->pc0);\n      dispatch(s, pos);\n      loop_pop(s, val);",
        "      lp->pc1 = new_label(s);\n      dispatch(s, first);\n      codegen(s, tree->cdr, NOVAL);\n      genjmp(s, OP_JMP, lp->pc0);\n      dispatch(s, pos);\n      loop_pop(s, val);",
    ),
    // A method without parentheses and with `=` had no register for its block: `yield` and `super` in it took whatever the first register held.
    // (Rule 502 of the generated parser is `f_opt_arglist_paren: none`, which had no action.)
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "  case 503: /* f_arglist_paren: '(' f_args rparen  */\n",
        "  case 502: /* f_opt_arglist_paren: none  */\n                    {\n                      local_add_f(p, 0);\n                      (yyval.nd) = new_args(p, 0, 0, 0, 0, 0);\n                    }\n    break;\n\n  case 503: /* f_arglist_paren: '(' f_args rparen  */\n",
    ),
    // `\"#@name\"` and `\"#$name\"` are interpolations in CRuby; here they stayed as they are written.
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "        return tSTRING_PART;\n      }\n      tokadd(p, '#');\n      pushback(p, c);\n",
        "        return tSTRING_PART;\n      }\n      if (c == '@' || c == '$') {\n        int next = nextc(p);\n        if (next == '_' || next == '@' || ISALPHA(next)) {\n          yyerror(p, \"mruby has no interpolation without braces; use \\\"#{@name}\\\" or \\\"#{$name}\\\"\");\n        }\n        pushback(p, next);\n      }\n      tokadd(p, '#');\n      pushback(p, c);\n",
    ),
];
