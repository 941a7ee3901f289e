/** What the first start writes as config.yaml: nothing is switched on, everything is shown. */
export const exampleConfig = `# Settings of Oubliette. Changes are taken over within two seconds; a mistake keeps the old settings.
# Every key is optional. Remove the "# " in front of a line to use it. Secrets: oubliette secret set NAME, then \${NAME}.

# version: 1

# Other files, merged in order; what stands here wins.
# include: [team.yaml]

# Hosts that HTTP tools may reach. Without an entry they may reach none.
# allowedHosts: [api.example.com, "*.example.org", "127.0.0.1:8080"]

# Short names for tools in programs.
# aliases: { hue: demo.foo }

# MCP servers whose tools appear as packs.
# servers:
#   files: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv/files] }
#   docs: { url: "https://mcp.example.com/mcp" }

# The folder that the fs tools may read.
# fs: { root: ~/documents }

# output: { maxInlineBytes: 50000, resultTtlSeconds: 3600, previewLines: 10 }
# stats: { enabled: true }
# limits: { depth: 3, agents: 50, costUsd: 10 }
# retention: { auditDays: 365, sessionDays: 30 }
`;
