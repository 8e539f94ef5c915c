"""From records to one history: logs are read, joined by identity, and followed through their lifecycles."""

PUBLIC = (
    "correlate.clocks",
    "correlate.entities",
    "correlate.event_filter",
    "correlate.handover",
    "correlate.history",
    "correlate.identity",
    "correlate.incidents",
    "correlate.nodes",
    "ingest.blocks",
    "ingest.input_reader",
    "ingest.limits",
    "ingest.log_events",
    "ingest.log_reader",
    "ingest.records",
    "ingest.snapshots",
    "lifecycles.build",
    "lifecycles.load",
    "views.causes",
    "views.diff",
    "views.inventory",
    "views.lanes",
    "views.phases",
    "views.timeline",
)
"""The modules that other packages may import."""
