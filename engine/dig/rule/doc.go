// Package rule describes valid values with keywords of JSON Schema: the rules of parameters, outputs and stored values.
// It reads rules, converts values to their types and lists violations.
//
// A value that was given as text takes the type of its rule, as everywhere in the language: "7" is a valid integer. ADR
// 56 explains why this is not a JSON Schema library.
package rule
