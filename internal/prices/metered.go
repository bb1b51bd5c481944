package prices

import (
	"encoding/json"
	"os"
)

// Metered is the usage in one billing unit. Its type is Cost Explorer's usage type, without the region prefix.
type Metered struct {
	Service  string  `json:"service"`
	Type     string  `json:"type"`
	Quantity float64 `json:"quantity"`
	Dollars  float64 `json:"dollars"`
}

// Meter prices a quantity.
func Meter(service, usageType string, quantity, price float64) Metered {
	return Metered{service, usageType, quantity, quantity * price}
}

// Write stores usage in a file, as JSON.
func Write(file string, list []Metered) error {
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
