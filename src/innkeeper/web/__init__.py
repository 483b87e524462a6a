"""The web UI: pages that are rendered here and kept up to date by server-sent events (docs/guide/web.md).

Rules
* One door: everything is read from, and asked of, the host as any other client does it, over AHP. No page touches an
  object of the host, so two browsers, and a browser and any other client, see the same.
* Nothing here is imported before somebody opens a page: `innkeeper.web.site` is where it begins.
"""
