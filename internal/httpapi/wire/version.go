package wire

// Version is the server's version.
type Version struct {
	Version string `json:"version"`
}

// VersionCheck reports whether a client is new enough.
type VersionCheck struct {
	ServerVersion      string `json:"serverVersion"`
	UpgradeRecommended bool   `json:"upgradeRecommended"`
	APICompatible      bool   `json:"apiCompatible"`
}
