// Decides for each line of its input whether the policies of a role allow an access, and answers with
// a line. A line with "policies" makes a role known.
//
//   {"role": "agent", "policies": [{...}]}                       no answer
//   {"role": "agent", "action": "sqs:SendMessage", "resource": "arn:...", "account": "...", "context": {}}
//   -> {"allowed": false, "why": "..."}
import { createInterface } from 'node:readline'
import { getDenialReasons, runSimulation } from '@cloud-copilot/iam-simulate'

const roles = new Map()

async function judge({ role, action, resource, account, context }) {
  const policies = roles.get(role)
  if (!policies) return { allowed: false, why: `role ${role} is not known` }
  const found = await runSimulation(
    {
      request: {
        principal: `arn:aws:sts::${account}:assumed-role/${role}/session`,
        action,
        resource: { resource, accountId: account },
        contextVariables: context ?? {},
      },
      identityPolicies: policies.map((policy, i) => ({ name: `policy${i}`, policy })),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  )
  if (found.resultType === 'error') return { allowed: false, why: JSON.stringify(found.errors) }
  const allowed = found.overallResult === 'Allowed'
  const analysis = found.result?.analysis ?? found.results?.[0]?.analysis
  return { allowed, why: allowed ? '' : `${found.overallResult} ${JSON.stringify(analysis ? getDenialReasons(analysis) : [])}` }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line)
  if (asked.policies) {
    roles.set(asked.role, asked.policies)
    continue
  }
  process.stdout.write(JSON.stringify(await judge(asked)) + '\n')
}
