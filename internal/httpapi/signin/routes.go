package signin

import (
	"net/http"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// Routes returns the routes for signing in and out.
func Routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: http.MethodGet, Path: "/api/x/session", Name: "getSignIn", Serve: getSignIn},
		{Method: http.MethodPost, Path: "/api/x/session", Name: "signIn", Consumes: wire.JSONType, Serve: signIn},
		{Method: http.MethodDelete, Path: "/api/x/session", Name: "signOut", Serve: signOut},
		{Method: http.MethodGet, Path: access.LeavePath, Name: "leaveToSignIn", Serve: getOIDC},
		{Method: http.MethodGet, Path: access.CallbackPath, Name: "comeBackSignedIn", Serve: getCallback},
	}
}
