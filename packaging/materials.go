package main

import (
	"path/filepath"

	"zerodag/internal/materials"
)

// materials writes a bill of materials for each target.
func (r *release) materials() error {
	for _, t := range r.targets {
		text, err := materials.Bill(filepath.Join(r.built(t), t.program()), materials.Subject{Name: "zerodag", Version: r.version, Built: r.time},
			"engine/expr/assets/package-lock.json", "ui/package-lock.json")
		if err != nil {
			return err
		}
		if err := write(r.name(t, ".cdx.json"), text); err != nil {
			return err
		}
	}
	return nil
}
