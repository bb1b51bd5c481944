package projects

import (
	"net/http"

	"zerodag/internal/catalogue"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// Routes returns the routes of projects, their revisions, workflows and secrets.
func Routes() []endpoint.Route {
	return []endpoint.Route{
		endpoint.Get("/api/project", "getProject", getProjectByName),
		endpoint.Get("/api/projects", "getProjects", getProjects),
		{Method: http.MethodPut, Path: "/api/projects", Name: "putProject", Role: access.Developer,
			Consumes: wire.GzipType, Change: catalogue.PushAction, Kind: endpoint.Transfer, Serve: putProject},
		endpoint.Get("/api/projects/{id}", "getProjectById", getProject),
		{Method: http.MethodPost, Path: "/api/uploads", Name: "openUpload", Role: access.Developer,
			Consumes: wire.JSONType, Change: catalogue.PushAction, Serve: postUpload},
		{Method: http.MethodGet, Path: "/api/uploads/{id}", Name: "getUpload", Role: access.Developer, Serve: getUpload},
		{Method: http.MethodPost, Path: "/api/uploads/{id}/complete", Name: "completeUpload", Role: access.Developer,
			Consumes: wire.JSONType, Change: catalogue.PushAction, Serve: completeUpload},
		{Method: http.MethodDelete, Path: "/api/projects/{id}", Name: "deleteProject", Role: access.Developer,
			Change: "delete project", Serve: deleteProject},
		{Method: http.MethodPost, Path: "/api/projects/{id}/pause", Name: "pauseProject", Role: access.Operator,
			Consumes: wire.JSONType, Change: "pause project", Serve: pauseProject},
		{Method: http.MethodPost, Path: "/api/projects/{id}/unpause", Name: "unpauseProject", Role: access.Operator,
			Consumes: wire.JSONType, Change: "unpause project", Serve: unpauseProject},
		endpoint.Get("/api/projects/{id}/revisions", "getRevisions", getRevisions),
		endpoint.Get("/api/projects/{id}/workflow", "getWorkflow", getWorkflowByQuery),
		endpoint.Get("/api/projects/{id}/workflows", "getWorkflows", getProjectWorkflows),
		endpoint.Get("/api/projects/{id}/workflows/{name}", "getWorkflowByName", getWorkflowByName),
		{Method: http.MethodGet, Path: "/api/projects/{id}/archive", Name: "getArchive", Role: access.Viewer,
			Kind: endpoint.Transfer, Serve: getArchive},
		{Method: http.MethodGet, Path: "/api/projects/{id}/secrets", Name: "getProjectSecretList", Role: access.Operator,
			Serve: getSecrets},
		{Method: http.MethodPut, Path: "/api/projects/{id}/secrets/{key}", Name: "putProjectSecret", Role: access.Admin,
			Consumes: wire.JSONType, Change: "put secret", Serve: putSecret},
		{Method: http.MethodDelete, Path: "/api/projects/{id}/secrets/{key}", Name: "deleteProjectSecret", Role: access.Admin,
			Change: "delete secret", Serve: deleteSecret},
		{Method: http.MethodGet, Path: "/api/secrets", Name: "getSiteSecrets", Role: access.Operator, Serve: getSiteSecrets},
		{Method: http.MethodPut, Path: "/api/secrets/{key}", Name: "putSiteSecret", Role: access.Admin, Site: true,
			Consumes: wire.JSONType, Change: "put secret", Serve: putSiteSecret},
		{Method: http.MethodDelete, Path: "/api/secrets/{key}", Name: "deleteSiteSecret", Role: access.Admin, Site: true,
			Change: "delete secret", Serve: deleteSiteSecret},
		endpoint.Get("/api/workflow", "getWorkflowDefinition", getWorkflowDefinition),
		endpoint.Get("/api/workflows", "getWorkflowDefinitions", getWorkflows),
		endpoint.Get("/api/workflows/{id}", "getWorkflowDefinitionById", getWorkflow),
		endpoint.Get("/api/workflows/{id}/truncated_session_time", "getTruncatedSessionTime", getSessionTime),
		endpoint.Read("/api/x/workflows/{id}/grid", "getGrid", getGrid),
		endpoint.Read("/api/x/workflows/{id}/plan", "getPlan", getPlan),
		endpoint.Read("/api/x/projects/{id}/files", "getFiles", getFiles),
		endpoint.Read("/api/x/projects/{id}/files/{path}", "getFileText", getFileText),
		{Method: http.MethodPost, Path: "/api/x/check", Name: "checkFiles", Role: access.Viewer, Cost: endpoint.Checking,
			Consumes: wire.JSONType, Serve: checkFiles},
	}
}
