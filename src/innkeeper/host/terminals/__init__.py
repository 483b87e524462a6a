"""Terminal channels (AHP §3, §7): shells and what they print, for every client alike."""
