// On Node: an echo over WebSocket on the library ws, with compression, and event streams, where /COUNT/MS sends so many
// events, each so many milliseconds after the one before. Prints its port; at the end of its input it prints what it
// counted, as JSON, and ends.
'use strict';

const http = require('node:http');
// Where Debian's package node-ws has it.
const { WebSocketServer } = require('/usr/share/nodejs/ws');

const counts = {};
const count = (name) => { counts[name] = (counts[name] || 0) + 1; };

const server = http.createServer((request, response) => {
  const [events, wait] = request.url.slice(1).split('/').map(Number);
  count('streams');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let number = 0;
  const timer = setInterval(() => {
    number += 1;
    response.write(`: a comment\n\nid: ${number}\ndata: event ${number}\n\n`);
    count('events');
    if (number < events) return;
    clearInterval(timer);
    response.end('data: [DONE]\n\n');
  }, wait);
});

new WebSocketServer({ server, perMessageDeflate: { threshold: 0 } }).on('connection', (socket) => {
  count('connections');
  socket.on('message', (data, isBinary) => {
    count(isBinary ? 'binary' : 'text');
    socket.send(data, { binary: isBinary });
  });
  socket.on('close', (code) => count(`closed with ${code}`));
});

server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => {
  console.log(JSON.stringify(counts));
  process.exit();
});
