"""What a project declares, told without starting anything: report, SARIF, explanation (M11.1, M11.2)."""
