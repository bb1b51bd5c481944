SELECT count(*) AS visits FROM visits;
