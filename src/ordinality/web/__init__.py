"""Pages that ask people, and pages that show what follows from their answers.

A server over one store of `ordinality.panel`. It needs the extra ``web``.
"""
