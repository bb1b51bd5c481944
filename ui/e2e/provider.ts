import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type Server as HTTP, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Who a provider says that it is that signs in. */
export type Person = { email: string; email_verified: boolean; groups: string[] };

/** An identity provider that lets everybody in, as one person. It checks what OpenID Connect has a provider check. */
export class Provider {
  person: Person = { email: "ada@example.com", email_verified: true, groups: ["oncall"] };
  issuer = "";
  private readonly keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  private readonly codes = new Map<string, URLSearchParams>();
  private readonly server: HTTP = createServer((request, response) => void this.serve(request, response));

  async start() {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    this.issuer = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async serve(request: IncomingMessage, response: ServerResponse) {
    const url = new URL(request.url ?? "/", this.issuer);
    const json = (value: object, status = 200) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json({
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
        });
      case "/keys":
        return json({ keys: [{ ...this.keys.publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }] });
      case "/authorize": {
        const code = randomUUID();
        this.codes.set(code, url.searchParams);
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        back.search = new URLSearchParams({ code, state: url.searchParams.get("state") ?? "" }).toString();
        return response.writeHead(302, { Location: back.href }).end();
      }
      case "/token": {
        let body = "";
        for await (const piece of request) body += String(piece);
        const asked = new URLSearchParams(body);
        const begun = this.codes.get(asked.get("code") ?? "");
        this.codes.delete(asked.get("code") ?? "");
        const verifier = createHash("sha256").update(asked.get("code_verifier") ?? "").digest("base64url");
        if (!begun || begun.get("code_challenge") !== verifier || begun.get("redirect_uri") !== asked.get("redirect_uri")) return json({ error: "invalid_grant" }, 400);
        return json({ access_token: "unused", token_type: "Bearer", expires_in: 60, id_token: this.token(begun) });
      }
      default:
        return response.writeHead(404).end();
    }
  }

  private token(begun: URLSearchParams): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.issuer, aud: begun.get("client_id"), sub: "1", iat: now, exp: now + 60, nonce: begun.get("nonce"), ...this.person };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "RS256", kid: "one", typ: "JWT" })}.${part(claims)}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), this.keys.privateKey).toString("base64url")}`;
  }
}
