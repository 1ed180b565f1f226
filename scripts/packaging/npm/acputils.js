#!/usr/bin/env node
// acputils TOOL ARGUMENT...: starts the tool's static binary for this machine. Called by a tool's own name, it is that tool.
'use strict'
const { spawn } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')

const arch = { x64: 'x86_64', arm64: 'aarch64' }[process.arch]
const dir = path.join(__dirname, 'bin', `${process.platform}-${arch}`)
const called = path.basename(process.argv[1]).replace(/\.js$/, '')
const args = process.argv.slice(2)
const tool = called === 'acputils' ? args.shift() : called

function fail (text, status) {
  process.stderr.write(`acputils: ${text}\n`)
  process.exit(status)
}

if (!fs.existsSync(dir)) fail(`there is no binary for ${process.platform} on ${process.arch}`, 126)
const tools = fs.readdirSync(dir)
if (tool === undefined || tool === '-h' || tool === '--help') {
  const usage = `usage: acputils TOOL [ARGUMENT]...\ntools: ${tools.join(' ')}\n`
  if (tool) process.stdout.write(usage)
  else process.stderr.write(usage)
  process.exit(tool ? 0 : 2)
}
if (!tools.includes(tool)) fail(`no such tool: ${tool} (tools: ${tools.join(' ')})`, 127)

// Descriptors 6 and 7 are a filter's other side (acp-filters(7)).
const linked = process.env.PROTO === 'ACP'
const stdio = linked ? [0, 1, 2, 'ignore', 'ignore', 'ignore', 6, 7] : 'inherit'
const child = spawn(path.join(dir, tool), args, { stdio, argv0: tool })
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGCONT']
for (const s of signals) process.on(s, () => child.kill(s))
child.on('error', e => fail(`${tool}: ${e.message}`, 126))
child.on('exit', (status, signal) => {
  if (signal === null) process.exit(status)
  for (const s of signals) process.removeAllListeners(s)
  try { process.kill(process.pid, signal) } catch {}
  // Where this process ignores the signal, the status says it, as in a shell.
  setTimeout(() => process.exit(128 + os.constants.signals[signal]), 100)
})
