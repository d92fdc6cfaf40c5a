// The proxy of Anthropic's sandbox-runtime alone, at a port and with a password of ours.
//
//     node srt_proxy.mjs PACKAGE PORT PASSWORD SETTINGS
//
// PACKAGE is the folder of the npm package, SETTINGS a file with its `network` settings, which is read again at
// SIGHUP (SandboxManager.updateConfig). It takes a free port and a random password at each start by itself;
// our command was told both once, so that the next process has to have the same.

import crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

const [folder, port, password, settings] = process.argv.slice(2)

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (at, ...more) {
  return listen.call(this, at === 0 ? Number(port) : at, ...more)
}
const randomBytes = crypto.randomBytes
crypto.randomBytes = (size, ...more) =>
  size * 2 === password.length && !more.length ? Buffer.from(password, 'hex') : randomBytes(size, ...more)
syncBuiltinESMExports()

const { SandboxManager } = await import(`${folder}/dist/index.js`)
const config = () => ({
  network: JSON.parse(readFileSync(settings, 'utf8')),
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
})

let start
process.on('SIGHUP', async () => {
  await start // which may still go on when its port answers already
  SandboxManager.updateConfig(config())
  console.log('the lists are read again')
})
start = SandboxManager.initialize(config())
await start
setInterval(() => {}, 1000) // its own listeners keep no process alive
