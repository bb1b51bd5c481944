CREATE TABLE IF NOT EXISTS visits (day date, page text);
