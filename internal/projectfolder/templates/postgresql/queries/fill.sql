INSERT INTO visits VALUES ('${session_date}', '/index.html');
