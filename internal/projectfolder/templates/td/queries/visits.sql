SELECT count(*) FROM www_access WHERE td_interval(time, '-1d/${session_date}');
