#!/bin/sh
# Pretends to extract the orders of a region: extract.sh REGION DATE
case $1 in eu) n=1204 s=1.2;; us) n=873 s=1.8;; *) n=412 s=0.7;; esac
sleep $s
echo $n orders of $2
