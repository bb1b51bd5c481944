// Date for the time zone of a workflow. The engine's own Date knows only the zone of
// the process; its instants are kept, and everything about local time is done anew.
(function (host, NativeDate) {
  'use strict';
  var construct = Reflect.construct, put = host.put, proto = NativeDate.prototype;
  var valueOf = proto.valueOf, setTime = proto.setTime;
  function call(f, self, argument) { return Reflect.apply(f, self, [argument]); }

  function Date(year, month, date, hours, minutes, seconds, ms) {
    if (!new.target) return host.format(NativeDate.now(), 0);
    var args = [];
    if (arguments.length === 1) args = [single(year)];
    if (arguments.length > 1) args = [host.instant(numbers(arguments))];
    return construct(NativeDate, args, new.target === Date ? NativeDate : new.target);
  }
  function single(value) {
    if (value instanceof NativeDate) return call(valueOf, value);
    if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
      var convert = value[Symbol.toPrimitive];
      value = convert == null ? primitive(value) : call(convert, value, 'default');
    }
    return typeof value === 'string' ? host.parse(value) : Number(value);
  }
  // primitive converts an object as an operator would.
  function primitive(value) {
    var plain = typeof value.valueOf === 'function' ? value.valueOf() : value;
    return plain !== null && typeof plain === 'object' ? `${value}` : plain;
  }
  function numbers(args) {
    var fields = [NaN, 0, 1, 0, 0, 0, 0];
    for (var i = 0; i < args.length && i < fields.length; i++) fields[i] = Number(args[i]);
    var year = Math.trunc(fields[0]);
    if (year >= 0 && year <= 99) fields[0] = 1900 + year;
    return fields;
  }

  Date.prototype = proto;
  put(proto, 'constructor', Date);
  put(Date, 'now', function now() { return NativeDate.now(); });
  put(Date, 'UTC', NativeDate.UTC);
  put(Date, 'parse', function parse(text) { return host.parse(`${text}`); });

  ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds', 'Day'].forEach(function (name, field) {
    put(proto, 'get' + name, function () { return host.field(call(valueOf, this), field); });
  });
  put(proto, 'getYear', function getYear() { return this.getFullYear() - 1900; });
  put(proto, 'getTimezoneOffset', function getTimezoneOffset() { return host.field(call(valueOf, this), 8); });

  // A setter takes as many fields as follow its own one in its group.
  function setter(name, first, count) {
    put(proto, 'set' + name, function () {
      var t = call(valueOf, this), fields = [];
      for (var i = 0; i < 7; i++) fields[i] = host.field(t, i);
      if (first === 0 && t !== t) fields = [NaN, 0, 1, 0, 0, 0, 0];
      fields[first] = NaN;
      for (i = 0; i < arguments.length && i < count; i++) fields[first + i] = Number(arguments[i]);
      return call(setTime, this, host.instant(fields));
    });
  }
  setter('FullYear', 0, 3);
  setter('Month', 1, 2);
  setter('Date', 2, 1);
  setter('Hours', 3, 4);
  setter('Minutes', 4, 3);
  setter('Seconds', 5, 2);
  setter('Milliseconds', 6, 1);

  ['toString', 'toDateString', 'toTimeString', 'toLocaleString', 'toLocaleDateString',
    'toLocaleTimeString'].forEach(function (name, layout) {
    put(proto, name, function () { return host.format(call(valueOf, this), layout); });
  });
  // Next to + a Date is a number, as in the original's ECMAScript 5.
  put(proto, Symbol.toPrimitive, function (hint) {
    return hint === 'string' ? this.toString() : call(valueOf, this);
  });
  return Date;
})
