// Metrics and the trend of earlier runs.
