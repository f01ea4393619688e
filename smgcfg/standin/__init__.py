"""The CPU stand-in engine: a headless TokenSpeed engine on the real ZMQ wire, without a GPU and without a model.

It registers at an smg gateway as TokenSpeed 0.1.1 does, answers with random text from its own byte-level tokenizer,
and enforces constraints for real (JSON schema, regex, EBNF, structural tags) when a grammar backend is on. It needs the
extra ``smgcfg[standin]``; nothing is imported here, so that the rest of smgcfg works without it.
"""
