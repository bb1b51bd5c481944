// Package rule says what a value must be like, in words of JSON Schema: the rules of parameters, outputs and stored values. It
// reads rules, fits values to them and lists what is wrong.
//
// A value that was given as text takes the type of its rule, as everywhere in the language: "7" fits an integer. Why this is no
// library of JSON Schema: ADR 56.
package rule
