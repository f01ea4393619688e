"""Is the schema still true? The flag table of an installed program, and how it differs from the shipped one.

What a program's source alone does not tell, measured with TokenSpeed 0.1.0 and 0.1.1, smg 1.13.0 and tokenspeed-smg
1.10.1:

- the choices of smg's `--reasoning-parser` and `--tool-call-parser`: a compiled module returns them. So smg's parser is
  made by importing it, and only where that fails is its source read.
- whether a flag is there, or its default, where the machine or another package decides: no flag of these releases.
- what no parser says, imported or not: bounds that are checked later, rules across flags, secrets, the JSON in a text.

What is not known of a flag stands in its record as `unknown`, with the reason, and is not compared.
"""
