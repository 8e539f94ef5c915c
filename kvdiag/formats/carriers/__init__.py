"""What stands in front of a log line: the journal, syslog, a runtime, kubectl, collectors."""
