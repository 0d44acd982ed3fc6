"""The version of Dayshift: of the client, the services and the wire between them."""

VERSION = "0.2.0"
