package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// bounds checks each field against its tags: enum, least, most and prefix.
func (s Settings) bounds() error {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		name := tag.Get("yaml")
		switch f.Kind() {
		case reflect.Int:
			least, most := limits(tag)
			if n := int(f.Int()); n < least || n > most {
				return fmt.Errorf("%s must be a number between %d and %d but is %d", name, least, most, n)
			}
		case reflect.String:
			if choice := choices(tag); choice != nil && !slices.Contains(choice, f.String()) {
				return fmt.Errorf("%s must be %s but is %q", name, strings.Join(choice, " or "), f.String())
			}
		case reflect.Slice:
			for _, id := range f.Interface().([]string) {
				if prefix := tag.Get("prefix"); !strings.HasPrefix(id, prefix) {
					return fmt.Errorf("%s must be IDs that begin with %s, but has %q", name, prefix, id)
				}
			}
		}
	}
	return nil
}

// limits returns the limits for a number.
func limits(tag reflect.StructTag) (least, most int) {
	least, err := strconv.Atoi(tag.Get("least"))
	if err == nil {
		most, err = strconv.Atoi(tag.Get("most"))
	}
	if err != nil {
		panic(fmt.Sprintf("settings: %s: %v", tag, err)) // a test reads them all
	}
	return least, most
}

// choices returns the values that a string may have; nil means any.
func choices(tag reflect.StructTag) []string {
	if text := tag.Get("enum"); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}
