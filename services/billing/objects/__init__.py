"""The vendor's objects as rows keep them: the type of each, and the function that makes a new one.

A type lists every field that the vendor shows, in the order in which it is shown; one of type None is never set here.
A name that starts with an underscore is ours and never leaves the service. The types are not total, because the same
type describes a whole object and a change of some of its fields; a test compares each new object with its type.
"""
